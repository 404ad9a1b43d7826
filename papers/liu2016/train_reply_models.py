"""Trains the neural reply models of a TOML file, each within a time limit (docs/reference/reply-models.md).

    python -m papers.liu2016.train_reply_models DATA --minutes 40 -o FOLDER             # all of dailydialog.toml
    python -m papers.liu2016.train_reply_models DATA --minutes 40 -o FOLDER --only hred,vhred
    python -m papers.liu2016.train_reply_models DATA --minutes 40 -o FOLDER --corpus empatheticdialogues

DATA contains <corpus>.<split>.jsonl.gz. FOLDER gets one folder per model, NAME.json with the figures of each, and
`table.md`. A model that is already there is neither trained nor measured again, and an interrupted run is resumed.
Models may be trained one by one (`--only`): a last run without it collects the figures of all in the table.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

from papers.reply_models.recall import recall
from rejoinder.data.dialogues import DialogueSource
from rejoinder.learning.run import PRECISIONS, TrainingRun
from rejoinder.metrics.diversity import Distinct
from rejoinder.models.language_model import DialogueLikelihood
from rejoinder.registry import build_trainable, load, trainable_class
from rejoinder.replies.base import Decoding, ReplyModel
from rejoinder.replies.corpus import Retrieval
from rejoinder.replies.neural import NeuralReplyModel
from rejoinder.replies.recurrent import RecurrentReplyModel
from rejoinder.show.text import counted
from rejoinder.specs import parse_spec
from rejoinder.types import Dialogue, Example

COSTS = ("perplexity", "own_perplexity", "word_nats_per_reply", "kl_per_reply")
"""Figures of a model that predicts replies."""
RECIPE = Path(__file__).with_name("dailydialog.toml")


@dataclass(frozen=True)
class Figures:
    """One row of the table; None where a model has no such figure."""

    name: str
    perplexity: float | None
    """On the validation dialogues, over the byte pairs that all recurrent models share."""
    own_perplexity: float | None
    """Over the model's own tokens."""
    word_nats_per_reply: float | None
    """For a model with a latent variable, the reconstruction."""
    kl_per_reply: float | None
    recall: float | None
    """recall@1 of 10 on the test dialogues, for a model that retrieves."""
    distinct_1: float | None
    distinct_2: float | None
    length: float | None
    """Mean number of words per reply."""
    weights: int
    minutes: float
    samples: list[str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, measure all, write the table."""
    given = _arguments(arguments)
    recipe = tomllib.loads(given.recipe.read_text(encoding="utf-8"))
    corpus = given.corpus or recipe["corpus"]
    train, valid, test = (
        _dialogues(given.data / f"{corpus}.{split}.jsonl.gz", given.most) for split in ("train", "valid", "test")
    )
    valid = valid[: recipe["validation"]]
    given.output.mkdir(parents=True, exist_ok=True)
    shared = _shared_tokens(train, valid)
    figures = []
    for label in given.only.split(",") if given.only else list(recipe["models"]):
        parameters = dict(recipe["models"][label])
        kind = parameters.pop("kind", label)
        unfitted = build_trainable(kind, {**parameters, **_settings(label, kind, given.set)})
        folder = given.output / label
        run = TrainingRun(
            checkpoints=folder.with_suffix(".checkpoints"),
            resume=True,
            minutes=given.minutes,
            mixed_precision=given.mixed_precision,
            quiet=False,
        )
        kept = folder.with_suffix(".json")
        if folder.is_dir() and kept.is_file():
            figures.append(Figures(**json.loads(kept.read_text(encoding="utf-8"))))
        else:
            model, minutes = _trained(unfitted, train, valid, folder, recipe["seed"], run)
            figures.append(_figures(label, model, minutes, shared, valid, test, recipe))
            kept.write_text(json.dumps(asdict(figures[-1]), indent=2) + "\n", encoding="utf-8")
            print(f"{label}: trained for {minutes:.1f} minutes", flush=True)
        text = table(figures, _contexts(test, recipe["samples"]))
        (given.output / "table.md").write_text(text, encoding="utf-8")


def table(figures: Sequence[Figures], contexts: Sequence[tuple[str, ...]]) -> str:
    """A table of the figures, then the replies of every model to the same contexts, in Markdown."""
    columns = ("perplexity", "nats per reply", "KL per reply", "recall@1 of 10", "distinct-1", "distinct-2", "words")
    lines = [f"| model | weights | minutes | {' | '.join(columns)} |", "|---" * (3 + len(columns)) + "|"]
    for one in figures:
        bound = "≤ " if one.kl_per_reply else ""
        cells = [
            bound + _shown(one.perplexity, 1),
            _shown(one.word_nats_per_reply, 1),
            _shown(one.kl_per_reply or None, 2),
            *(_shown(value, 3) for value in (one.recall, one.distinct_1, one.distinct_2)),
            _shown(one.length, 1),
        ]
        lines.append(f"| `{one.name}` | {one.weights / 1e6:.1f} M | {one.minutes:.0f} | {' | '.join(cells)} |")
    for number, context in enumerate(contexts):
        lines += ["", f"> {_cell(context[-1])}", "", "| model | reply |", "|---|---|"]
        lines += [f"| `{one.name}` | {_cell(one.samples[number])} |" for one in figures if one.samples]
    return "\n".join(lines) + "\n"


def _trained(
    model: Any, train: Sequence[Dialogue], valid: Sequence[Dialogue], folder: Path, seed: int, run: TrainingRun
) -> tuple[Any, float]:
    """The model of the folder, which is trained if it does not exist yet, and the processor minutes that it took."""
    timing = folder.with_suffix(".minutes")
    minutes = float(timing.read_text()) if timing.is_file() else 0.0
    if folder.is_dir():
        return load(folder), minutes
    started = process_time()
    try:
        # Skip-thought, which is no reply model, holds out some of its own dialogues.
        model.fit(train, valid=valid if isinstance(model, ReplyModel) else (), seed=seed, run=run)
    finally:  # an interrupted run counts as well
        minutes += (process_time() - started) / 60
        timing.write_text(f"{minutes:.3f}")
    model.save(folder)
    return model, minutes


def _figures(
    label: str,
    model: Any,
    minutes: float,
    shared: int,
    valid: Sequence[Dialogue],
    test: Sequence[Dialogue],
    recipe: Mapping[str, Any],
) -> Figures:
    found = _likelihood(model, valid)
    replies: list[str] = []
    if isinstance(model, ReplyModel):
        decoding = Decoding.parse(recipe["decoding"]) if model.decodes else None
        replies = model.reply(_contexts(test, recipe["contexts"]), decoding=decoding, seed=recipe["seed"])
    examples = [Example(str(number), (), reply) for number, reply in enumerate(replies)]
    ranked = recall(model, test, seed=recipe["seed"]).at[1].estimate if isinstance(model, Retrieval) else None
    cost: dict[str, float | None] = dict.fromkeys(COSTS)
    if found is not None:
        # Skip-thought predicts other turns than the others: its perplexity stays that of its own tokens.
        counted = found.counted_in(shared) if isinstance(model, ReplyModel) else found
        values = (counted.perplexity, found.perplexity, found.word_nats_per_reply, found.kl_per_reply)
        cost = dict(zip(COSTS, values, strict=True))
    return Figures(
        name=label,
        **cost,
        recall=ranked,
        distinct_1=Distinct(n=1).corpus_score(examples) if replies else None,
        distinct_2=Distinct(n=2).corpus_score(examples) if replies else None,
        length=sum(len(reply.split()) for reply in replies) / len(replies) if replies else None,
        weights=sum(weight.numel() for weight in model.network_.parameters()),
        minutes=minutes,
        samples=replies[: recipe["samples"]],
    )


def _likelihood(model: Any, valid: Sequence[Dialogue]) -> DialogueLikelihood | None:
    """Of the replies; for skip-thought of each turn's two neighbours; None for a model that retrieves."""
    if isinstance(model, Retrieval):
        return None
    if isinstance(model, NeuralReplyModel):
        return model.likelihood(valid)
    from rejoinder.models.token_dialogues import token_dialogues
    from rejoinder.replies.neural_training import likelihood

    tokens = token_dialogues(valid, model.vocabulary_, turns=model.turns, longest=model.longest)
    return likelihood(model.network_, tokens)


def _shared_tokens(train: Sequence[Dialogue], valid: Sequence[Dialogue]) -> int:
    """The number of tokens of the validation replies in the vocabulary of the recurrent models."""
    from rejoinder.models.token_dialogues import token_dialogues
    from rejoinder.text.vocabulary import Vocabulary

    defaults = RecurrentReplyModel
    vocabulary = Vocabulary.learn((turn for one in train for turn in one.turns), defaults.vocabulary)
    dialogues = token_dialogues(valid, vocabulary, turns=defaults.turns, longest=defaults.longest)
    return sum(len(dialogue.turns[turn]) for dialogue in dialogues for turn in dialogue.replies)


def _contexts(dialogues: Sequence[Dialogue], most: int) -> list[tuple[str, ...]]:
    """The turns before the last one of each dialogue."""
    return [dialogue.turns[:-1] for dialogue in dialogues if len(dialogue.turns) > 1][:most]


def _dialogues(path: Path, most: int | None) -> list[Dialogue]:
    source = DialogueSource(str(path), "skip")
    found = list(source)[:most]
    if source.skipped:
        print(f"{counted(len(source.skipped), 'record')} left out, the first: {next(iter(source.skipped.values()))}")
    return found


def _settings(label: str, kind: str, given: Sequence[str]) -> dict[str, Any]:
    """The settings of one model from ['hred.hidden=64', ...]; `*` stands for every model with such a parameter."""
    known = {field.name for field in dataclasses.fields(trainable_class(kind))}
    found: dict[str, Any] = {}
    for pair in given:
        model, _, setting = pair.partition(".")
        parsed = parse_spec(f"{kind}({setting})")[1]
        if model == label or (model == "*" and parsed.keys() <= known):
            found |= parsed
    return found


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--minutes", type=float, required=True, help="time limit of each model's training")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--mixed-precision", choices=PRECISIONS, default=TrainingRun.mixed_precision, help="as in `rejoinder train`"
    )
    parser.add_argument("--corpus", help="corpus in place of the recipe's")
    parser.add_argument("--only", metavar="NAMES", help="models of the recipe to train, separated by commas")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="MODEL.KEY=VALUE",
        help="overrides the recipe; `*.KEY=VALUE` does so for every model with this parameter",
    )
    parser.add_argument("--most", type=int, help="maximum number of dialogues per split, for a trial run")
    parser.add_argument("--recipe", type=Path, default=RECIPE, help="TOML file with the models and their parameters")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
