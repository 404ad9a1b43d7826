"""Trains the network behind the metric `fluency` (src/rejoinder/metrics/fluency.py).

    python recipes/fluency.py train --dialogues FILE... -o fluency.safetensors
    python recipes/fluency.py measure --dialogues FILE...            # turns that were not trained on

It learns to distinguish turns of the dialogues from the same turns broken by rules. All text must be free for any use
where the file is to be given away. Needs the extra `train`; the shipped file took about six minutes on one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.negatives import garbled
from rejoinder.folders.saved import write_arrays
from rejoinder.metrics.fluency import ENDINGS, FEWEST_WORDS, WINDOW, WORDS, fluency, hashed, shipped_weights, tokens_of

WORD_DIMS, ENDING_DIMS, HIDDEN = 32, 16, 64
BATCH = 256
PUNCTUATION = frozenset(".,!?;:-\"'()…")

Breaking = Callable[[list[str], Sequence[str], np.random.Generator], list[str]]

WRONG = {"is": "are", "are": "is", "was": "were", "were": "was", "am": "is", "do": "does", "does": "do"}
WRONG |= {"have": "has", "has": "have", "i": "me", "me": "i", "he": "him", "him": "he", "they": "them", "she": "her"}
WRONG |= {"them": "they", "my": "i", "your": "you", "a": "an", "an": "the", "to": "for", "for": "to", "in": "of"}
WRONG |= {"of": "in", "at": "by", "we": "us", "us": "we", "don't": "doesn't", "doesn't": "don't", "i'm": "i's"}
"""Word -> one that is wrong in its place."""


def shuffled(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """All words in random order."""
    return [words[place] for place in rng.permutation(len(words))]


def swapped(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """One to three pairs of neighbours in the wrong order."""
    made = list(words)
    for place in rng.integers(0, len(words) - 1, rng.integers(1, 4)):
        made[place], made[place + 1] = made[place + 1], made[place]
    return made


def repeated(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """A phrase of one to three words two or three times, or many words twice."""
    if rng.random() < 0.4:
        return [word for word in words for _ in range(1 + int(rng.random() < 0.4))]
    start, length = int(rng.integers(0, len(words))), int(rng.integers(1, 4))
    return words[: start + length] + words[start : start + length] * int(rng.integers(1, 3)) + words[start + length :]


def dropped(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Without a fifth to a half of the words."""
    kept = rng.random(len(words)) > rng.uniform(0.2, 0.5)
    return [word for word, keep in zip(words, kept, strict=True) if keep]


def misformed(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Words in wrong forms."""
    made = []
    for word in words:
        if word in WRONG and rng.random() < 0.6:
            made.append(WRONG[word])
        elif len(word) > 3 and word.isalpha() and rng.random() < 0.35:
            made.append(word[:-1] if word.endswith("s") else word + ("s", "ing", "ed")[rng.integers(3)])
        else:
            made.append(word)
    return made


def cut_off(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Without its end."""
    return words[: int(rng.integers(2, max(3, len(words) - 1)))]


def mixed(words: list[str], other: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Its words with those of another turn, in random order, or words of another turn put between."""
    if rng.random() < 0.5:
        both = [*words, *other]
        return [both[place] for place in rng.permutation(len(both))[: len(words)]]
    made = list(words)
    for word in other[: int(rng.integers(1, 4))]:
        made.insert(int(rng.integers(0, len(made) + 1)), word)
    return made


def circling(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """A few words over and over."""
    few = [words[place] for place in rng.permutation(len(words))[: int(rng.integers(1, 4))]]
    return few * int(rng.integers(2, 6))


BREAKING: tuple[Breaking, ...] = (shuffled, swapped, repeated, dropped, misformed, cut_off, mixed, circling)


class Network(nn.Module):
    """The network of `rejoinder.metrics.fluency`, in torch."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WORD_DIMS)
        self.endings = nn.Embedding(ENDINGS, ENDING_DIMS)
        self.first = nn.Linear(3 * (WORD_DIMS + ENDING_DIMS), HIDDEN)
        self.second = nn.Linear(3 * HIDDEN, HIDDEN)
        self.last = nn.Linear(2 * HIDDEN, 1)
        nn.init.normal_(self.words.weight, std=0.1)
        nn.init.normal_(self.endings.weight, std=0.1)

    def forward(self, words: Tensor, endings: Tensor) -> Tensor:
        """One logit per window. Each (windows, tokens) -> (windows,)"""
        present = (words > 0).unsqueeze(2).float()
        hidden = torch.cat([self.words(words), self.endings(endings)], dim=2) * present
        for layer in (self.first, self.second):
            padded = nn.functional.pad(hidden, (0, 0, 1, 1))
            hidden = torch.relu(layer(torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], dim=2))) * present
        pooled = torch.cat([hidden.sum(1) / present.sum(1), hidden.amax(1)], dim=1)
        found: Tensor = self.last(pooled).squeeze(1)
        return found

    @torch.no_grad()
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What the metric reads: tables as int8 with one scale per row, the rest as float16."""
        found: dict[str, NDArray[np.generic]] = {}
        for name in ("words", "endings"):
            table = getattr(self, name).weight.numpy()
            scale = np.maximum(np.abs(table).max(1), 1e-6) / 127
            found |= {name: np.round(table / scale[:, None]).astype(np.int8), f"{name}.scale": scale.astype(np.float32)}
        for name in ("first", "second", "last"):
            layer = getattr(self, name)
            weight = layer.weight.numpy().T
            found |= {
                f"{name}.weight": weight.astype(np.float16),
                f"{name}.bias": layer.bias.numpy().astype(np.float16),
            }
        found["last.weight"] = found["last.weight"][:, 0]
        return found


def turns_of(paths: Sequence[str]) -> list[list[str]]:
    """The turns of the dialogues as tokens, without very short and very long ones, each once."""
    texts = dict.fromkeys(turn for path in paths for dialogue in DialogueSource(path) for turn in dialogue.turns)
    tokens = (tokens_of(text) for text in texts)
    return [each for each in tokens if sum(map(str.isalnum, each)) >= FEWEST_WORDS and len(each) <= 2 * WINDOW]


def sample_of(turn: list[str], other: list[str], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """A window of a turn, and the same broken in one or two ways; half of the time without punctuation marks."""
    if rng.random() < 0.5:
        turn, other = ([token for token in each if token not in PUNCTUATION] for each in (turn, other))
    start = int(rng.integers(0, max(1, len(turn) - WINDOW + 1)))
    intact = turn[start : start + WINDOW]
    if len(intact) < FEWEST_WORDS - 1:
        return intact, intact
    broken = intact
    for _ in range(1 + int(rng.random() < 0.3)):
        if len(broken) > 2:
            broken = BREAKING[rng.integers(len(BREAKING))](broken, other[:WINDOW], rng)
    return intact, broken[:WINDOW]


def train(arguments: argparse.Namespace) -> None:
    """Train and save."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    rng, turns, begun = np.random.default_rng(arguments.seed), turns_of(arguments.dialogues), time.monotonic()
    print(f"{len(turns):,} turns", flush=True)
    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    steps, seen, loss_sum = arguments.steps, 0, 0.0
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    for step in range(1, steps + 1):
        drawn = rng.integers(0, len(turns), (BATCH // 2, 2))
        pairs = [sample_of(turns[one], turns[two], rng) for one, two in drawn]
        pairs = [pair for pair in pairs if pair[0] != pair[1] and pair[1]]
        words, endings = hashed([*(intact for intact, _ in pairs), *(broken for _, broken in pairs)])
        wanted = torch.cat([torch.ones(len(pairs)), torch.zeros(len(pairs))])
        found = network(torch.from_numpy(words), torch.from_numpy(endings))
        loss = nn.functional.binary_cross_entropy_with_logits(found, wanted)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        seen, loss_sum = seen + 1, loss_sum + loss.item()
        if step % 500 == 0:
            print(f"step {step}: loss {loss_sum / seen:.3f}, {time.monotonic() - begun:.0f} s", flush=True)
            seen, loss_sum = 0, 0.0
    write_arrays(Path(arguments.output), network.arrays())


def measure(arguments: argparse.Namespace) -> None:
    """Print how often an intact turn scores above a broken one (AUC), by way of breaking."""
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(arguments.seed)
    turns = turns_of(arguments.dialogues)
    turns = [turns[place] for place in rng.permutation(len(turns))[: arguments.most]]
    intact = fluency([" ".join(turn) for turn in turns], shipped_weights())
    intact = intact[~np.isnan(intact)]

    def auc(texts: list[str]) -> float:
        broken = fluency(texts, shipped_weights())
        broken = broken[~np.isnan(broken)]
        return float(mannwhitneyu(intact, broken).statistic / (len(intact) * len(broken)))

    for breaking in BREAKING:
        made = [breaking(turn, turns[place - 1], rng) for place, turn in enumerate(turns)]
        kept = [" ".join(each) for each, turn in zip(made, turns, strict=True) if each != turn and each]
        print(f"{breaking.__name__:10} {auc(kept):.3f}  ({len(kept)} of {len(turns)})")
    other = [garbled(" ".join(turn), " ".join(turns[place - 1]), rng) for place, turn in enumerate(turns)]
    texts = [each.text for each in other if each]
    print(f"{'garbled':10} {auc(texts):.3f}  ({len(texts)}; the ways of rejoinder.data.negatives)")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    training = verbs.add_parser("train")
    training.add_argument("--dialogues", nargs="+", required=True, metavar="FILE")
    training.add_argument("--steps", type=int, default=6_000)
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("-o", "--output", required=True)
    training.set_defaults(run=train)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("--dialogues", nargs="+", required=True, metavar="FILE")
    measuring.add_argument("--most", type=int, default=2000)
    measuring.add_argument("--seed", type=int, default=1)
    measuring.set_defaults(run=measure)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
