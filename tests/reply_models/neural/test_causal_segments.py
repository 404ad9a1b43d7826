"""The input of TransferTransfo: each token tells whose turn it is part of."""

from __future__ import annotations

from typing import Any

import pytest

from small_dialogues import DIALOGUES

torch = pytest.importorskip("torch", reason="needs what training needs")

from rejoinder.models.token_dialogues import TokenDialogue, token_dialogues  # noqa: E402
from rejoinder.replies.causal_network import CausalReplies, ScriptTokens  # noqa: E402
from rejoinder.types import Dialogue  # noqa: E402
from tiny_causal import tiny_causal  # noqa: E402

PERSONA = Dialogue(
    "p", ("your persona: I sail.", "your persona: I am old.", "Hello.", "Ahoy!", "A sailor?", "For years.")
)


def network(*, speakers: bool) -> tuple[CausalReplies, ScriptTokens]:
    torch.manual_seed(0)
    made, tokens = CausalReplies.pretrained(tiny_causal(), 512, speakers=speakers)
    if made.segments is not None:
        torch.nn.init.normal_(made.segments.weight)
    return made.eval(), tokens


def in_tokens(dialogue: Dialogue, tokens: ScriptTokens) -> TokenDialogue:
    [found] = token_dialogues([dialogue], tokens, turns=20, longest=60)
    return found


def test_speakers_alternate_after_the_persona() -> None:
    made, tokens = network(speakers=True)
    assert made._segments(in_tokens(PERSONA, tokens).turns) == [0, 0, 1, 2, 1, 2]
    assert made._segments(in_tokens(DIALOGUES[0], tokens).turns) == [1, 2, 1, 2]


def test_only_the_one_whom_the_persona_describes_is_learned() -> None:
    made, tokens = network(speakers=True)
    nats = made([in_tokens(PERSONA, tokens)])
    assert nats.replies == 2
    assert nats.tokens == sum(len(tokens.encode([text], 60)[0]) for text in ("Ahoy!", "For years."))
    assert made([in_tokens(DIALOGUES[0], tokens)]).replies == 3
    # Without a reply of that speaker, what there is is learned: a batch without anything to learn would have no loss.
    assert made([in_tokens(Dialogue("x", ("Hello.", "your persona: I sail.")), tokens)]).replies == 1
    assert made([in_tokens(Dialogue("x", ("your persona: I sail.",) * 2), tokens)]).replies == 1


@pytest.mark.parametrize("dialogue", [PERSONA, DIALOGUES[0]])
def test_training_and_decoding_use_the_same_segments(dialogue: Dialogue) -> None:
    made, tokens = network(speakers=True)
    turns = in_tokens(dialogue, tokens).turns
    with torch.no_grad():
        cost, (state, last) = 0.0, made.start([turns[:-1]], None)
        for token in turns[-1]:
            logs, state = made.step(state, last)
            cost -= float(logs[0, token])
            last = torch.tensor([token])
        nats = made([TokenDialogue(turns, (len(turns) - 1,))])
    assert float(nats.words) == pytest.approx(cost, rel=1e-4)


def test_a_segment_is_added_to_the_word() -> None:
    made, tokens = network(speakers=True)
    plain, _ = network(speakers=False)
    segments = made.segments
    assert segments is not None
    given: list[Any] = []
    made.model.model.register_forward_pre_hook(
        lambda _, __, named: given.append(named["inputs_embeds"]), with_kwargs=True
    )
    dialogue = in_tokens(DIALOGUES[0], tokens)
    with torch.no_grad():
        made([dialogue])
        ids = torch.tensor([made.begin, *(token for turn in dialogue.turns for token in turn)])
        whose = torch.tensor([0, *(1 + place % 2 for place, turn in enumerate(dialogue.turns) for _ in turn)])
        torch.testing.assert_close(given[0][0], made.model.get_input_embeddings()(ids) + segments.weight[whose])
        torch.nn.init.zeros_(segments.weight)
        torch.testing.assert_close(made([dialogue]).words, plain([dialogue]).words)


def test_a_context_that_is_too_long_keeps_its_persona() -> None:
    made, tokens = network(speakers=True)
    plain, _ = network(speakers=False)
    context = in_tokens(PERSONA, tokens).turns
    every = [token for turn in context for token in turn]
    persona, last = len(context[0]) + len(context[1]), len(context[-1])
    for room in (persona + last + 1, persona + last):
        made.context_tokens = plain.context_tokens = 2 * room
        kept = [*every[:persona], *every[persona - room :]]
        assert made._script(context) == [made.begin, *kept]
        assert len(kept) == room < len(every)
        assert made._spoken(context, made._segments(context))[1 : persona + 1] == [0] * persona
        assert made._spoken(context, made._segments(context))[-last:] == [2] * last
        assert plain._script(context) == [made.begin, *every[-room:]], "without segments there are no personas"
    made.context_tokens = 2 * (last + 3)  # the last turn, and the first three tokens of the persona
    assert made._script(context) == [made.begin, *every[:3], *context[-1]]
    made.context_tokens = 2 * (last - 1)
    assert made._script(context) == [made.begin, *context[-1][1:]]
    with torch.no_grad():
        assert made.encode([context]).isfinite().all()
