"""Trains the neural reply models as a TOML file says, each within a time limit (docs/reference/reply-models.md).

    python recipes/reply_models.py DATA --minutes 40 -o FOLDER             # all of recipes/dailydialog.toml
    python recipes/reply_models.py DATA --minutes 40 -o FOLDER --only hred,vhred

DATA holds <corpus>.<split>.jsonl.gz. FOLDER gets a folder a model, `figures.json` and `table.md`; a model that is there
already is not trained again, so that models can be trained one after the other, or after an interruption.
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
    """What the table shows of one model."""

    name: str
    perplexity: float
    """Validation, over the byte pairs that all recurrent models share."""
    own_perplexity: float
    """Over the model's own tokens."""
    words_a_reply: float
    """Nats; of a model with a latent, reconstruction."""
    kl_a_reply: float
    distinct_1: float
    distinct_2: float
    length: float
    """Words of a reply, the mean."""
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
        parameters = {**recipe["models"][name], **_settings(name, arguments.set), "minutes": arguments.minutes}
        model, minutes = _trained(name, parameters, train, valid, arguments.output / name, recipe["seed"])
        figures.append(_figures(model, minutes, shared, valid, test, recipe))
        (arguments.output / "figures.json").write_text(json.dumps([asdict(one) for one in figures], indent=2) + "\n")
        (arguments.output / "table.md").write_text(table(figures, _contexts(test, recipe["samples"])))
        print(f"{name}: validation perplexity {figures[-1].perplexity:.2f}", flush=True)


def table(figures: Sequence[Figures], contexts: Sequence[tuple[str, ...]]) -> str:
    """A table of the figures, then the replies of every model to the same contexts, in Markdown."""
    lines = [
        "| model | weights | minutes | perplexity | nats a reply | KL a reply | distinct-1 | distinct-2 | words |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in figures:
        kl = f"{one.kl_a_reply:.2f}" if one.kl_a_reply else "-"
        bound = "≤ " if one.kl_a_reply else ""
        lines.append(
            f"| `{one.name}` | {one.weights / 1e6:.1f} M | {one.minutes:.0f} | {bound}{one.perplexity:.1f} "
            f"| {one.words_a_reply:.1f} | {kl} | {one.distinct_1:.3f} | {one.distinct_2:.3f} | {one.length:.1f} |"
        )
    for number, context in enumerate(contexts):
        lines += ["", f"> {_cell(context[-1])}", "", "| model | reply |", "|---|---|"]
        lines += [f"| `{one.name}` | {_cell(one.samples[number])} |" for one in figures]
    return "\n".join(lines) + "\n"


def _trained(
    name: str,
    parameters: Mapping[str, Any],
    train: Sequence[Dialogue],
    valid: Sequence[Dialogue],
    folder: Path,
    seed: int,
) -> tuple[NeuralReplyModel, float]:
    """The model of the folder, trained where it is not there; and how many minutes that took."""
    timing = folder.with_suffix(".minutes")
    if folder.is_dir():
        found: NeuralReplyModel = load_reply_model(folder)
        return found, float(timing.read_text())
    model: NeuralReplyModel = build_reply_model(name, parameters)
    started = monotonic()
    run = TrainingRun(checkpoints=folder.with_suffix(".checkpoints"), resume=True, quiet=False)
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
        words_a_reply=found.words_a_reply,
        kl_a_reply=found.kl_a_reply,
        distinct_1=Distinct(n=1).corpus_score(examples),
        distinct_2=Distinct(n=2).corpus_score(examples),
        length=sum(len(reply.split()) for reply in replies) / len(replies),
        weights=sum(weight.numel() for weight in model.network_.parameters()),
        minutes=minutes,
        samples=replies[: recipe["samples"]],
    )


def _shared_tokens(train: Sequence[Dialogue], valid: Sequence[Dialogue]) -> int:
    """How many tokens the validation replies have in the vocabulary that the recurrent models learn."""
    from rejoinder.language_models.recurrent.token_dialogues import token_dialogues
    from rejoinder.text.vocabulary import Vocabulary

    defaults = RecurrentReplyModel
    vocabulary = Vocabulary.learn((turn for one in train for turn in one.turns), defaults.vocabulary)
    dialogues = token_dialogues(valid, vocabulary, turns=defaults.turns, longest=defaults.longest)
    return sum(len(dialogue.turns[turn]) for dialogue in dialogues for turn in dialogue.replies)


def _contexts(dialogues: Sequence[Dialogue], most: int) -> list[tuple[str, ...]]:
    """What was said before the last turn of each dialogue."""
    return [dialogue.turns[:-1] for dialogue in dialogues if len(dialogue.turns) > 1][:most]


def _dialogues(path: Path, most: int | None) -> list[Dialogue]:
    return list(DialogueSource(str(path), "raise"))[:most]


def _settings(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Of ['hred.hidden=64', ...] those of one model."""
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
    parser.add_argument("--minutes", type=float, required=True, help="for each model's training, at most")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", metavar="NAMES", help="some models of the recipe, separated by commas")
    parser.add_argument("--set", action="append", default=[], metavar="MODEL.KEY=VALUE", help="overrides the recipe")
    parser.add_argument("--most", type=int, help="dialogues of each split, to try it out")
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
