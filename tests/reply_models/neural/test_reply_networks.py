"""Reply networks: training and decoding use the same probabilities, rows are independent, VHRED's bound by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what training needs")

from rejoinder.models.recurrent import (  # noqa: E402  # noqa: E402  # noqa: E402  # noqa: E402
    FULL_UP_TO,
    BahdanauAttention,
    ContextMemory,
    Decoder,
    LuongAttention,
    NetworkSizes,
    NextToken,
    NormalisedGru,
    ReplyNetwork,
)
from rejoinder.models.token_dialogues import TokenDialogue, packed_like, packed_tokens  # noqa: E402
from rejoinder.replies.neural_training import Hred, LanguageModel, Seq2Seq  # noqa: E402
from rejoinder.replies.vhred import Gaussian, Vhred  # noqa: E402
from rejoinder.text.vocabulary import END, START  # noqa: E402

SIZES = NetworkSizes(tokens=12, embedding=6, hidden=8)
DIALOGUES = [
    TokenDialogue(((5, 6, 7, END), (8, END), (9, 10, 5, 6, END)), (1, 2)),
    TokenDialogue(((END,), (11, 4, END)), (1,)),
    TokenDialogue(((4, END), (5, 5, 5, END), (6, END), (7, 8, END)), (1, 3)),
]


def networks() -> dict[str, ReplyNetwork[Any]]:
    torch.manual_seed(0)
    return {
        "lm": LanguageModel(SIZES),
        "seq2seq": Seq2Seq(SIZES, attention="", turns=2, context_tokens=6),
        "luong": Seq2Seq(SIZES, attention="luong", turns=2, context_tokens=6),
        "bahdanau": Seq2Seq(SIZES, attention="bahdanau", turns=2, context_tokens=6),
        "hred": Hred(SIZES),
        "hred of two layers": Hred(SIZES, layers=2),
    }


@pytest.mark.parametrize("name", networks())
def test_training_and_decoding_use_the_same_probabilities(name: str) -> None:
    network = networks()[name].eval()
    many = DIALOGUES * 8  # more rows than a sort keeps in order by chance
    places = [(dialogue.turns[:turn], dialogue.turns[turn]) for dialogue in many for turn in dialogue.replies]
    cost = 0.0
    with torch.no_grad():
        state, last = network.start([context for context, _ in places], None)
        for place in range(max(len(reply) for _, reply in places)):
            logs, state = network.step(state, last)
            for row, (_, reply) in enumerate(places):
                cost -= float(logs[row, reply[place]]) if place < len(reply) else 0.0
            last = torch.tensor([reply[min(place, len(reply) - 1)] for _, reply in places])
        nats = network(many)
    assert float(nats.words) == pytest.approx(cost, rel=1e-5)
    assert (nats.tokens, nats.replies) == (sum(len(reply) for _, reply in places), len(places))


@pytest.mark.parametrize("name", networks())
def test_rows_are_independent(name: str) -> None:
    network = networks()[name].eval()
    with torch.no_grad():
        together = float(network(DIALOGUES).words)
        apart = sum(float(network([dialogue]).words) for dialogue in DIALOGUES)
        vectors = network.encode([dialogue.turns for dialogue in DIALOGUES])
        alone = torch.cat([network.encode([dialogue.turns]) for dialogue in DIALOGUES])
        state, last = network.start([dialogue.turns for dialogue in DIALOGUES], None)
        turned = torch.tensor([2, 0, 0])
        logs = network.step(state, last)[0][turned]
        again = network.step(network.reorder(state, turned), last[turned])[0]
    assert together == pytest.approx(apart, rel=1e-5)
    torch.testing.assert_close(vectors, alone)
    torch.testing.assert_close(again, logs)


@pytest.mark.parametrize("tokens", [12, FULL_UP_TO + 100])
def test_probabilities_sum_to_one_and_agree_with_what_is_learned(tokens: int) -> None:
    torch.manual_seed(0)
    layer = NextToken(8, tokens)
    hidden, wanted = torch.randn(5, 8), torch.tensor([2, 5, 11, tokens // 2, tokens - 1])
    logs = layer.logs(hidden)
    nats = layer(hidden, wanted)
    np.testing.assert_allclose(-nats.detach(), logs.gather(1, wanted[:, None]).squeeze(1).detach(), rtol=1e-4)
    assert torch.isneginf(logs[:, START]).all()
    said = logs.exp().sum(1).detach()
    every = torch.stack([(-layer(hidden, torch.full((5,), token))).exp() for token in (0, 1, 3)]).sum(0).detach()
    np.testing.assert_allclose(said + every, 1.0, rtol=1e-4)


def test_a_normalised_gru_reads_packed_rows_like_single_ones() -> None:
    torch.manual_seed(0)
    gru = NormalisedGru(3, 4)
    rows = packed_tokens([(0, 1), (2, 3, 4), (5,)], torch.device("cpu"))
    vectors = torch.randn(6, 3)
    states, last = gru(packed_like(vectors[rows.data], rows), torch.zeros(1, 3, 4))
    for number, ids in enumerate([(0, 1), (2, 3, 4), (5,)]):
        state = torch.zeros(1, 4)
        for token in ids:
            state = gru.cell(gru.read_norm(gru.read(vectors[token][None])), state)
        torch.testing.assert_close(last[0, number], state[0])
    assert states.data.shape == (6, 4)


# Two states to attend to, of one row; a third one is beyond the end of the row and would change everything.
MEMORY = ContextMemory(torch.tensor([[[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]]]), torch.tensor([[False, False, True]]))


def test_bahdanau_attention_by_hand() -> None:
    attention = BahdanauAttention(2, 2, 3).requires_grad_(False)
    attention.query.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 0.5]]))  # W
    attention.key.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))  # U
    attention.score.weight.copy_(torch.tensor([[1.0, 2.0]]))  # v
    found = attention(torch.tensor([[0.5, 1.0]]), attention.prepared(MEMORY))
    # W s = (.5, .5). U h = (0, 1) and (2, 0); v^T tanh((.5, 1.5)) = .46212 + 2 * .90515 = 2.27242 and
    # v^T tanh((2.5, .5)) = .98661 + 2 * .46212 = 1.91085: the first state has the weight 1 / (1 + e^-.36157) = .58942.
    assert found[0].tolist() == pytest.approx([0.58942, 2 * 0.41058], abs=1e-4)


def test_luong_attention_by_hand() -> None:
    attention = LuongAttention(2, 2).requires_grad_(False)
    attention.score.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 0.5]]))  # M
    attention.mix.weight.copy_(torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]))
    attention.mix.bias.zero_()
    one = packed_tokens([(0,)], torch.device("cpu"))
    found = attention(packed_like(torch.tensor([[0.5, 1.0]]), one), MEMORY)
    # M s = (.5, .5), so that the scores are .5 and 1: the first state has the weight 1 / (1 + e^.5) = .37754.
    assert found[0].tolist() == pytest.approx([math.tanh(0.37754), math.tanh(2 * 0.62246)], abs=1e-4)


def test_bahdanau_attention_asks_with_the_state_before_a_token() -> None:
    torch.manual_seed(0)
    network = Seq2Seq(SIZES, attention="bahdanau", turns=2, context_tokens=6).eval()
    asked: list[Any] = []
    attention = network.decoder.attend
    assert isinstance(attention, BahdanauAttention)
    attention.register_forward_hook(lambda *call: asked.append(call[1][0]))
    with torch.no_grad():
        state, first = network.start([DIALOGUES[0].turns[:1]], None)
        after = network.step(state, first)[1]
        network.step(after, torch.tensor([5]))
    torch.testing.assert_close(asked[0], state.hidden)
    torch.testing.assert_close(asked[1], after.hidden)


def test_words_are_hidden_only_while_learning() -> None:
    torch.manual_seed(0)
    decoder = Decoder(50, 6, 4, 8, word_drop=0.25)
    ids = torch.randint(4, 50, (4000,))
    hidden = decoder._hidden_at_random(ids) != ids
    assert float(hidden.float().mean()) == pytest.approx(0.25, abs=0.03)  # four standard errors
    assert (decoder._hidden_at_random(torch.full((100,), START)) == START).all()
    assert (decoder.eval()._hidden_at_random(ids) == ids).all()


def test_kl_of_gaussians() -> None:
    ours = Gaussian(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 2.0]]))
    other = Gaussian(torch.zeros(1, 2), torch.ones(1, 2))
    # (1 + 1 - 1 - ln 1) / 2 = .5 and (4 + 0 - 1 - ln 4) / 2 = .80685
    assert float(ours.kl(other)) == pytest.approx(0.5 + 0.80685, abs=1e-5)
    assert float(ours.kl(ours)) == pytest.approx(0.0, abs=1e-6)
    library = torch.distributions
    expected = library.kl_divergence(library.Normal(*ours), library.Normal(*other)).sum()
    assert float(ours.kl(other)) == pytest.approx(float(expected), rel=1e-6)


def vhred_without_weights() -> Vhred:
    """All weights are 0 but the biases, which give: tokens by share, posterior N((1, 0), (1, 2)), prior N(0, 1)."""
    network = Vhred(NetworkSizes(tokens=6, embedding=3, hidden=4), latent=2, annealing=10, word_drop=0.25)
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)

    def spread(*deviations: float) -> list[float]:
        return [math.log(math.expm1(deviation - 1e-3)) for deviation in deviations]  # softplus backwards

    with torch.no_grad():
        weights = dict(network.named_parameters())
        shares = torch.tensor([0.1, 0.1, 0.2, 0.1, 0.3, 0.2])
        weights["decoder.next_token.scores.bias"].copy_(shares.log())
        weights["posterior.layers.2.bias"].copy_(torch.tensor([1.0, 0.0, *spread(1.0, 2.0)]))
        weights["prior.layers.2.bias"].copy_(torch.tensor([0.0, 0.0, *spread(1.0, 1.0)]))
    return network


def test_the_loss_of_vhred_by_hand() -> None:
    network = vhred_without_weights().requires_grad_(False)
    dialogue = TokenDialogue(((4, END), (4, 5, END), (4, END)), (1, 2))
    nats = network([dialogue])
    # -ln(.3 * .2 * .2) - ln(.3 * .2) = 4.42285 + 2.81341; two replies of KL 1.30685 each, as above
    assert float(nats.words) == pytest.approx(7.23626, abs=1e-4)
    assert float(nats.kl) == pytest.approx(2.61371, abs=1e-4)
    assert (nats.tokens, nats.replies) == (5, 2)
    assert float(network.objective(nats)) == pytest.approx(
        7.23626 / 5, abs=1e-4
    )  # the first batch: the weight of the KL is 0
    for _ in range(4):
        network.objective(nats)
    # the sixth of ten: the weight of the KL is .5. (7.23626 + .5 * 2.61371) / 5
    assert float(network.objective(nats)) == pytest.approx(1.70862, abs=1e-4)
    for _ in range(10):
        network.objective(nats)
    assert float(network.objective(nats)) == pytest.approx((7.23626 + 2.61371) / 5, abs=1e-4)
    network.free_nats = 1.0
    assert float(network.objective(nats)) == pytest.approx((7.23626 + 0.61371) / 5, abs=1e-4)


def test_the_posterior_of_vhred_depends_on_the_reply_and_the_prior_does_not() -> None:
    torch.manual_seed(0)
    network = Vhred(SIZES, latent=2, annealing=10).eval()
    given: dict[str, list[Any]] = {"prior": [], "posterior": []}
    for name in given:
        getattr(network, name).register_forward_hook(lambda *call, name=name: given[name].append(call[2].mean))
    with torch.no_grad():
        for reply in ((5, 6, END), (9, END)):
            network([TokenDialogue(((4, END), reply), (1,))])
    assert torch.equal(*given["prior"])
    assert not torch.allclose(*given["posterior"])


def test_the_bag_of_words_is_learned_beside_the_likelihood() -> None:
    network = Vhred(NetworkSizes(tokens=6, embedding=3, hidden=4), latent=2, annealing=10, word_drop=0.0, bag=0.5)
    network.requires_grad_(False)
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    dialogue = TokenDialogue(((4, END), (4, 5, END), (4, END)), (1, 2))
    nats = network([dialogue])
    assert float(nats.extra) == pytest.approx(0.5 * 5 * math.log(6), rel=1e-5)  # five tokens, each one of six
    with_bag = float(network.objective(nats))
    assert with_bag == pytest.approx(float(nats.words + nats.extra) / 5, rel=1e-5)
    assert network.eval()([dialogue]).extra == 0.0


def test_the_latent_is_drawn_by_the_seed_of_its_context() -> None:
    torch.manual_seed(0)
    network = Vhred(SIZES, latent=3, annealing=10).eval()
    contexts = [dialogue.turns for dialogue in DIALOGUES]
    with torch.no_grad():
        drawn = network.start(contexts, [1, 2, 3])[0].hidden
        turned = network.start(contexts[::-1], [3, 2, 1])[0].hidden
        other = network.start(contexts, [1, 2, 4])[0].hidden
        likeliest = network.start(contexts, None)[0].hidden
    torch.testing.assert_close(turned.flip(0), drawn)
    torch.testing.assert_close(other[:2], drawn[:2])
    assert not torch.allclose(other[2], drawn[2])
    assert not torch.allclose(likeliest, drawn)
