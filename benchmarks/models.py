"""How fast the reply models train and reply on one thread, beside a Hugging Face GPT-2 of as many weights.

    python benchmarks/models.py ../shared/data/dialogues/dailydialog.train.jsonl.gz --markdown speed.md

All learn the replies of the same dialogues, over the same byte pairs, and reply with the same number of tokens; weights
are random.
Time is the processor's, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.data.dialogues import DialogueSource
from rejoinder.folders.foreign import quiet_transformers
from rejoinder.learning.data import buckets
from rejoinder.models.recurrent import ReplyNetwork
from rejoinder.models.token_dialogues import TokenContext, TokenDialogue, token_dialogues
from rejoinder.registry import build_reply_model
from rejoinder.replies.base import Decoding
from rejoinder.replies.recurrent import RecurrentReplyModel
from rejoinder.replies.search import search
from rejoinder.text.vocabulary import END, PAD, START, Vocabulary
from rejoinder.types import Dialogue

NAMES = ("lstm-lm", "seq2seq", "seq2seq-attention", "hred", "vhred")
WAYS = {
    "both": (True, True),
    "packing alone": (False, True),
    "buckets alone": (True, False),
    "neither": (False, False),
}
"""Name -> whether dialogues of similar length share a batch, and whether rows are packed."""
NOT_PACKED = {"lstm-lm"}
"""Its rows are dialogues, always filled up; buckets make them alike, and are all that can be left out."""
SAID = 20
"""Tokens of a reply that is timed."""
ANSWERED = 64
"""Contexts that are answered together."""
BATCH = 16

Batch = Sequence[TokenDialogue]


@dataclass(frozen=True)
class Speed:
    """One model."""

    name: str
    weights: int
    tokens: dict[str, float]
    """Way of batching -> tokens of replies that are learned per second."""
    replies: float
    """Per second, each of `SAID` tokens."""
    peer_weights: int
    peer_tokens: float
    peer_replies: float


def main() -> None:
    """Measure, print, write."""
    arguments = _arguments()
    torch.set_num_threads(1)
    known = tuple(islice(DialogueSource(str(arguments.dialogues), "raise"), 2000))
    vocabulary = Vocabulary.learn((turn for one in known for turn in one.turns), arguments.vocabulary)
    dialogues = known[:: len(known) // arguments.most][: arguments.most]
    found = []
    for name in NAMES:
        sizes = {"vocabulary": arguments.vocabulary, "embedding": arguments.embedding, "hidden": arguments.hidden}
        found.append(measured(build_reply_model(name, sizes), vocabulary, dialogues))
        print(f"{name} done", flush=True)
    text = table(found)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")


def measured(model: RecurrentReplyModel, vocabulary: Vocabulary, text: Sequence[Dialogue]) -> Speed:
    """How fast one model is, and its peer."""
    torch.manual_seed(0)
    dialogues = token_dialogues(text, vocabulary, turns=model.turns_per_piece, longest=model.longest)
    network = model.make_network(vocabulary)
    peer = gpt2_of(weights_of(network), len(vocabulary))
    contexts = [dialogue.turns[: dialogue.replies[-1]] for dialogue in dialogues[:ANSWERED]]
    still = model.name in NOT_PACKED
    tokens = {
        way: learned_a_second(
            network, batches_of(dialogues, bucketed), _ours(network, model.name, packed=packed or still)
        )
        for way, (bucketed, packed) in WAYS.items()
        if not still or bucketed == packed
    }
    return Speed(
        model.name,
        weights_of(network),
        tokens,
        replies_a_second(network.eval(), contexts),
        weights_of(peer),
        learned_a_second(peer, batches_of(dialogues, bucketed=True), lambda batch: _gpt2_loss(peer, batch)),
        gpt2_replies_a_second(peer.eval(), contexts),
    )


def batches_of(dialogues: Batch, bucketed: bool) -> list[Batch]:
    """All dialogues once, those of similar length together or as they come."""
    rng = np.random.default_rng(0)
    rows = buckets([dialogue.size for dialogue in dialogues], BATCH, rng)
    if not bucketed:
        order = rng.permutation(len(dialogues)).tolist()
        rows = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    return [[dialogues[row] for row in some] for some in rows]


def learned_a_second(network: nn.Module, batches: Sequence[Batch], loss: Callable[[Batch], Tensor]) -> float:
    """Tokens of replies per second, padding not counted: forward, backward, clipping and a step of AdamW."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.0, fused=True)
    network.train()
    _learn(network, optimiser, loss, batches[0])  # memory is set up, and not timed
    started = process_time()
    for batch in batches:
        _learn(network, optimiser, loss, batch)
    return sum(_reply_tokens(batch) for batch in batches) / (process_time() - started)


def _learn(network: nn.Module, optimiser: Any, loss: Callable[[Batch], Tensor], batch: Batch) -> None:
    optimiser.zero_grad()
    loss(batch).backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()


def _ours(network: ReplyNetwork[Any], name: str, *, packed: bool) -> Callable[[Batch], Tensor]:
    return lambda batch: network.objective(network(batch if packed else filled(batch, name)))


def filled(batch: Batch, name: str) -> list[TokenDialogue]:
    """The dialogues as they would be computed without packing: with padding, as far as the network's shape needs it."""
    longest = max(len(turn) for dialogue in batch for turn in dialogue.turns)
    most = max(len(dialogue.turns) for dialogue in batch) if name in {"hred", "vhred"} else 0  # a row of turns
    found = []
    for one in batch:
        blank = ((),) * max(0, most - len(one.turns))
        turns = tuple(turn + (PAD,) * (longest - len(turn)) for turn in (*one.turns, *blank))
        found.append(TokenDialogue(turns, (*one.replies, *range(len(one.turns), len(turns)))))
    return found


def replies_a_second(network: ReplyNetwork[Any], contexts: Sequence[TokenContext]) -> float:
    """Replies of `SAID` tokens, greedily; a reply that ends sooner counts for as much as it says."""

    def reply() -> float:
        state, first = network.start(contexts, None)
        said = search(network, state, first, Decoding(max_tokens=SAID), list(range(len(contexts))))
        return sum(map(len, said)) / SAID

    return best_rate(reply)


def gpt2_of(weights: int, tokens: int) -> Any:
    """A GPT-2 of four layers and about so many weights, all random."""
    import transformers

    # 12 width^2 a layer, and a vector of this width for each token and place.
    width = min(range(16, 1024, 16), key=lambda one: abs(48 * one**2 + (tokens + 1024) * one - weights))
    config = transformers.GPT2Config(
        vocab_size=tokens, n_positions=1024, n_embd=width, n_layer=4, n_head=4, bos_token_id=START, eos_token_id=END
    )
    with quiet_transformers():
        return transformers.AutoModelForCausalLM.from_config(config)


def _gpt2_loss(model: Any, batch: Batch) -> Tensor:
    """As the library has it: rows filled up, what is not to be learned marked -100."""
    longest = 1 + max(dialogue.size for dialogue in batch)
    ids = torch.full((len(batch), longest), PAD)
    labels = torch.full_like(ids, -100)
    mask = torch.zeros_like(ids)
    for row, dialogue in enumerate(batch):
        text = torch.tensor([START, *(token for turn in dialogue.turns for token in turn)])
        wanted = torch.tensor(
            [False, *(at in dialogue.replies for at, turn in enumerate(dialogue.turns) for _ in turn)]
        )
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
        labels[row, : len(text)] = text.where(wanted, torch.tensor(-100))
    loss: Tensor = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    return loss


def gpt2_replies_a_second(model: Any, contexts: Sequence[TokenContext]) -> float:
    """The same by the library's own `generate`, with its cache."""
    rows = [[START, *(token for turn in context for token in turn)] for context in contexts]
    longest = max(map(len, rows))
    ids = torch.tensor([[PAD] * (longest - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
    given = {"max_new_tokens": SAID, "min_new_tokens": SAID, "do_sample": False, "pad_token_id": PAD}

    def reply() -> float:
        model.generate(input_ids=ids, attention_mask=mask, **given)
        return len(rows)

    return best_rate(reply)


def best_rate(work: Callable[[], float]) -> float:
    """How much is done per second, in the best of three runs."""
    rates = []
    with torch.inference_mode():
        for _ in range(3):
            started = process_time()
            done = work()
            rates.append(done / (process_time() - started))
    return max(rates)


def weights_of(network: nn.Module) -> int:
    """How many numbers a network has learned; what is shared counts once."""
    return sum(weight.numel() for weight in network.parameters())


def table(found: Sequence[Speed]) -> str:
    """Both tables in Markdown."""
    first = next(iter(WAYS))
    lines = [
        f"| model | weights | tokens learned per second | {' | '.join([*WAYS][1:])} "
        "| replies per second | GPT-2 of | ours is, learning | ours is, replying |",
        "|---" * 10 + "|",
    ]
    for one in found:
        ratios = [f"{one.tokens[way] / one.tokens[first]:.2f}" if way in one.tokens else "-" for way in [*WAYS][1:]]
        lines.append(
            f"| `{one.name}` | {one.weights / 1e6:.2f} M | {one.tokens[first]:,.0f} | {' | '.join(ratios)} "
            f"| {one.replies:,.0f} | {one.peer_weights / 1e6:.2f} M | {one.tokens[first] / one.peer_tokens:.1f} "
            f"| {one.replies / one.peer_replies:.1f} |"
        )
    return "\n".join(lines) + "\n"


def _reply_tokens(batch: Batch) -> int:
    return sum(len(dialogue.turns[turn]) for dialogue in batch for turn in dialogue.replies)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dialogues", type=Path, metavar="FILE")
    parser.add_argument("--most", type=int, default=32, help="dialogues that are learned from")
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--embedding", type=int, default=96)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--markdown", type=Path, metavar="FILE.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
