"""Trains the neural reply models of a TOML file, each within a time limit (docs/reference/reply-models.md).

    python recipes/reply_models.py DATA --minutes 40 -o FOLDER             # all of recipes/dailydialog.toml
    python recipes/reply_models.py DATA --minutes 40 -o FOLDER --only hred,vhred

DATA contains <corpus>.<split>.jsonl.gz. FOLDER gets one folder per model, `figures.json` and `table.md`. A model that
is already there is not trained again, and an interrupted run is resumed.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rejoinder.data.dialogues import DialogueSource
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.diversity import Distinct
from rejoinder.registry import build_reply_model, load_reply_model
from rejoinder.reply_models.decoding import Decoding
from rejoinder.reply_models.neural.base import NeuralReplyModel
from rejoinder.reply_models.neural.recurrent import RecurrentReplyModel
from rejoinder.specs import parse_spec
from rejoinder.types import Dialogue, Example

RECIPE = Path(__file__).with_name("dailydialog.toml")


@dataclass(frozen=True)
class Figures:
    """One row of the table."""

    name: str
    perplexity: float
    """On the validation dialogues, over the byte pairs that all recurrent models share."""
    own_perplexity: float
    """Over the model's own tokens."""
    word_nats_per_reply: float
    """For a model with a latent variable, the reconstruction."""
    kl_per_reply: float
    distinct_1: float
    distinct_2: float
    length: float
    """Mean number of words per reply."""
    weights: int
    minutes: float
    samples: list[str]


def main() -> None:
    """Train what is missing, measure all, write the table."""
    arguments = _arguments()
    recipe = tomllib.loads(arguments.recipe.read_text(encoding="utf-8"))
    chosen = arguments.only.split(",") if arguments.only else list(recipe["models"])
    train, valid, test = (
        _dialogues(arguments.data / f"{recipe['corpus']}.{split}.jsonl.gz", arguments.most)
        for split in ("train", "valid", "test")
    )
    arguments.output.mkdir(parents=True, exist_ok=True)
    shared = _shared_tokens(train, valid)
    figures = []
    for name in chosen:
        parameters = {**recipe["models"][name], **_settings(name, arguments.set)}
        unfitted: NeuralReplyModel = build_reply_model(name, parameters)
        folder = arguments.output / name
        run = TrainingRun(
            checkpoints=folder.with_suffix(".checkpoints"), resume=True, minutes=arguments.minutes, quiet=False
        )
        model, minutes = _trained(unfitted, train, valid, folder, recipe["seed"], run)
        figures.append(_figures(model, minutes, shared, valid, test, recipe))
        (arguments.output / "figures.json").write_text(json.dumps([asdict(one) for one in figures], indent=2) + "\n")
        (arguments.output / "table.md").write_text(table(figures, _contexts(test, recipe["samples"])))
        print(f"{name}: validation perplexity {figures[-1].perplexity:.2f}", flush=True)


def table(figures: Sequence[Figures], contexts: Sequence[tuple[str, ...]]) -> str:
    """A table of the figures, then the replies of every model to the same contexts, in Markdown."""
    lines = [
        "| model | weights | minutes | perplexity | nats per reply | KL per reply | distinct-1 | distinct-2 | words |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in figures:
        kl = f"{one.kl_per_reply:.2f}" if one.kl_per_reply else "-"
        bound = "≤ " if one.kl_per_reply else ""
        lines.append(
            f"| `{one.name}` | {one.weights / 1e6:.1f} M | {one.minutes:.0f} | {bound}{one.perplexity:.1f} "
            f"| {one.word_nats_per_reply:.1f} | {kl} | {one.distinct_1:.3f} | {one.distinct_2:.3f} | {one.length:.1f} |"
        )
    for number, context in enumerate(contexts):
        lines += ["", f"> {_cell(context[-1])}", "", "| model | reply |", "|---|---|"]
        lines += [f"| `{one.name}` | {_cell(one.samples[number])} |" for one in figures]
    return "\n".join(lines) + "\n"


def _trained(
    model: NeuralReplyModel,
    train: Sequence[Dialogue],
    valid: Sequence[Dialogue],
    folder: Path,
    seed: int,
    run: TrainingRun,
) -> tuple[NeuralReplyModel, float]:
    """The model of the folder, which is trained if it does not exist yet, and how many minutes the training took."""
    timing = folder.with_suffix(".minutes")
    if folder.is_dir():
        found: NeuralReplyModel = load_reply_model(folder)
        return found, float(timing.read_text())
    started = monotonic()
    model.fit(train, valid=valid, seed=seed, run=run)
    minutes = (monotonic() - started) / 60
    timing.write_text(f"{minutes:.3f}")
    model.save(folder)
    return model, minutes


def _figures(
    model: NeuralReplyModel,
    minutes: float,
    shared: int,
    valid: Sequence[Dialogue],
    test: Sequence[Dialogue],
    recipe: Mapping[str, Any],
) -> Figures:
    contexts = _contexts(test, recipe["contexts"])
    replies = model.reply(contexts, decoding=Decoding.parse(recipe["decoding"]), seed=recipe["seed"])
    examples = [Example(str(number), (), reply) for number, reply in enumerate(replies)]
    found = model.likelihood(valid)
    return Figures(
        name=model.name,
        perplexity=found.counted_in(shared).perplexity,
        own_perplexity=found.perplexity,
        word_nats_per_reply=found.word_nats_per_reply,
        kl_per_reply=found.kl_per_reply,
        distinct_1=Distinct(n=1).corpus_score(examples),
        distinct_2=Distinct(n=2).corpus_score(examples),
        length=sum(len(reply.split()) for reply in replies) / len(replies),
        weights=sum(weight.numel() for weight in model.network_.parameters()),
        minutes=minutes,
        samples=replies[: recipe["samples"]],
    )


def _shared_tokens(train: Sequence[Dialogue], valid: Sequence[Dialogue]) -> int:
    """The number of tokens of the validation replies in the vocabulary of the recurrent models."""
    from rejoinder.language_models.recurrent.token_dialogues import token_dialogues
    from rejoinder.text.vocabulary import Vocabulary

    defaults = RecurrentReplyModel
    vocabulary = Vocabulary.learn((turn for one in train for turn in one.turns), defaults.vocabulary)
    dialogues = token_dialogues(valid, vocabulary, turns=defaults.turns, longest=defaults.longest)
    return sum(len(dialogue.turns[turn]) for dialogue in dialogues for turn in dialogue.replies)


def _contexts(dialogues: Sequence[Dialogue], most: int) -> list[tuple[str, ...]]:
    """The turns before the last one of each dialogue."""
    return [dialogue.turns[:-1] for dialogue in dialogues if len(dialogue.turns) > 1][:most]


def _dialogues(path: Path, most: int | None) -> list[Dialogue]:
    return list(DialogueSource(str(path), "raise"))[:most]


def _settings(name: str, given: Sequence[str]) -> dict[str, Any]:
    """The settings of one model from ['hred.hidden=64', ...]."""
    found: dict[str, Any] = {}
    for pair in given:
        model, _, setting = pair.partition(".")
        if model == name:
            found |= parse_spec(f"{name}({setting})")[1]
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--minutes", type=float, required=True, help="time limit of each model's training")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", metavar="NAMES", help="models of the recipe to train, separated by commas")
    parser.add_argument("--set", action="append", default=[], metavar="MODEL.KEY=VALUE", help="overrides the recipe")
    parser.add_argument("--most", type=int, help="maximum number of dialogues per split, for a trial run")
    parser.add_argument("--recipe", type=Path, default=RECIPE, help="TOML file with the models and their parameters")
    return parser.parse_args()


if __name__ == "__main__":
    main()
