"""The pages of reply models, one per corpus: Table 2 of Liu et al. 2016 on other corpora, with perplexity and recall.

Trained reply models are looked for in the models' folder: reply-models/CORPUS/NAME. The file note.md next to them says
what a reader must know of them, above all how long they were trained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import monotonic

from papers.documents import Document
from papers.inputs import Inputs
from papers.published import liu2016
from papers.reply_models.measures import (
    METRICS,
    RANDOM,
    Corpus,
    Row,
    drawn_places,
    model_row,
    random_row,
)
from rejoinder.errors import CallError
from rejoinder.registry import load
from rejoinder.replies.pool import PoolSystem, pool_systems
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example

CORPORA = ("dailydialog", "empatheticdialogues")
FOLDER = "reply-models"
ORDER = (
    *("r-tfidf", "c-tfidf", "bm25", "retrieve-rerank", "lstm-lm", "seq2seq", "seq2seq-attention", "seq2seq-bahdanau"),
    *("hred", "hred-two-layers", "vhred", "causal-lm", "causal-lm-speakers", "dual-encoder-rnn", "dual-encoder"),
)
"""The order of models on the page: a recurrent one before a pretrained one, whose perplexity is over its tokens."""
LIU_ROWS = {
    "r-tfidf": "R-TFIDF",
    "c-tfidf": "C-TFIDF",
    "dual-encoder-rnn": "DE",
    "dual-encoder": "DE",
    "lstm-lm": "LSTM",
    "hred": "HRED",
}
"""Our model -> its row in the paper; of two for one row, the first that was measured counts."""
SOME, MOST = 0.05, 0.5
"""Shares of a corpus's contexts from which a model counts as trained on a part of it, and on the whole."""

INTRODUCTION = """\
# Reply models in figures: {corpus}

This page repeats Table 2 of Liu et al. 2016 on another corpus. Each model gave one reply to each of the same contexts,
and the embedding metrics compare it with the true reply. Brackets are 95 % intervals over contexts.
[reply-models.md](../reference/reply-models.md) says how the models work. "Random reply" is the true reply to another
context, which shows what the metrics give without any model. The paper used other corpora and word vectors: the order
of its models can be compared with ours, but not its values. There is a page for each of our two corpora:
[DailyDialog](reply-model-figures.md) and [EmpatheticDialogues](reply-model-figures-empathetic.md)."""

ORDER_TEXT = """\
The models in order: `>` means that the interval of the mean difference between two neighbours is above 0, and `=` that
it contains 0. Only neighbours are compared, without a correction for the number of comparisons, and the ends of a chain
of `=` may well differ."""

CLAIMS_TEXT = "What the paper concludes from its own table, and what the mean differences on these contexts show:"

PREDICTIONS_TEXT = """\
Perplexity is computed over all replies of the same dialogues, per byte-pair token; models trained on the same dialogues
share these tokens. A pretrained model has tokens of its own; the cost of its replies is divided by the number of the
same byte-pair tokens. For VHRED, perplexity is an upper bound, from reconstruction and KL. recall@k is the share of
true replies that are among the first k of ten candidates. Where a retrieval model finds the true reply word for word,
another dialogue of its corpus also contains it: some dialogues of these corpora are near copies of each other."""

SAMPLES_TEXT = "Sample replies to the first contexts that were drawn, of which the last turn is shown:"


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of the models."""

    corpus: str = CORPORA[0]
    contexts: int = 300
    """Contexts of the corpus, one per test dialogue."""
    seed: int = 1


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """What the models say, how well they predict, and which models they are."""
    document = Document("reply-model-figures")
    corpus = _measured(inputs, settings)
    document.text(INTRODUCTION.format(corpus=corpus.name), inputs.note(f"{FOLDER}/{corpus.name}"))
    signature = load(METRICS[0]).signature
    document.text(f"Metrics: {', '.join(METRICS)}, as in `{signature}`. Random seed: {settings.seed}.")
    document.text(f"{len(corpus.places)} contexts of test, one per dialogue.")
    for section in sections:
        SECTIONS[section](document, corpus)
    return document


def _measured(inputs: Inputs, settings: Settings) -> Corpus:
    """Every model of a corpus on the same contexts."""
    name = settings.corpus
    dialogues = inputs.dialogues(f"{name}.test")
    corpus = Corpus(name, drawn_places(dialogues, settings.contexts, settings.seed), settings.seed)
    corpus.rows.append(random_row(corpus))
    known = {other: _some_contexts(inputs, other) for other in CORPORA}
    for folder in _folders(inputs.models / FOLDER / name):
        started = monotonic()
        [system] = pool_systems([f"{folder.name}={folder}"])
        corpus.rows.append(model_row(system, corpus, _trained_on(system, known)))
        inputs.say(f"{name}: {system.name} in {monotonic() - started:.0f} s")
    return corpus


def _folders(home: Path) -> list[Path]:
    """The models of a corpus in the order of the page."""
    found = [path for path in home.glob("*") if path.is_dir()]
    if not found:
        raise CallError(f"{home} holds no reply model: expected one folder per model, named like the model")
    return sorted(found, key=lambda path: (ORDER.index(path.name) if path.name in ORDER else len(ORDER), path.name))


def _some_contexts(inputs: Inputs, corpus: str) -> list[Example]:
    """Contexts of a corpus's training dialogues, by which a model is known to have been trained on it."""
    some = inputs.dialogues(f"{corpus}.train")[::100]
    return [Example(one.id, one.turns[:-1], one.turns[-1]) for one in some if len(one.turns) > 3]


def _trained_on(system: PoolSystem, contexts: dict[str, list[Example]]) -> tuple[str, ...]:
    shares = {name: float(system.model.trained_contexts.holds(some).mean()) for name, some in contexts.items() if some}
    return tuple(name + (" (part)" if share < MOST else "") for name, share in shares.items() if share > SOME)


def _table_2(document: Document, corpus: Corpus) -> None:
    """The embedding metrics, the order of the models, and the paper's claims."""
    heads = [f"paper, {name}: {' / '.join(liu2016.METRICS)}" for name in liu2016.CORPORA]
    rows = [
        [_name(row), ", ".join(row.trained_on) or "-", *map(_interval, row.means), *_theirs(row)] for row in corpus.rows
    ]
    document.table(["model", "trained on", *liu2016.METRICS, *heads], rows)
    document.text(ORDER_TEXT, "\n".join(_order(corpus.rows)))
    document.text(CLAIMS_TEXT, "\n".join(_claims(corpus.rows)))


def _theirs(row: Row) -> list[str]:
    """The paper's figures of the same kind of model, corpus by corpus."""
    name = LIU_ROWS.get(row.model)
    if name is None:
        return ["-"] * len(liu2016.CORPORA)
    return [
        " / ".join(_share(liu2016.TABLE_2.column(f"{corpus}: {metric}")[name]) for metric in liu2016.METRICS)
        for corpus in liu2016.CORPORA
    ]


def _order(rows: Sequence[Row]) -> list[str]:
    """The models, highest mean first."""
    lines = []
    for column, name in enumerate(liu2016.METRICS):
        ranked = sorted(rows, key=lambda row: -row.means[column].estimate)
        text = ranked[0].name
        for better, worse in pairwise(ranked):
            text += f" {'>' if _difference(better, worse, column).low > 0 else '='} {worse.name}"
        lines.append(f"- {name}: {text}")
    return lines


def _claims(rows: Sequence[Row]) -> list[str]:
    """Each claim of the paper with the differences found here."""
    measured = {row.model: row for row in reversed(rows)}  # of two variants of a model, the first
    lines = []
    for claim, *sides in liu2016.CLAIMS:
        models = [[model for model, known in LIU_ROWS.items() if known == side and model in measured] for side in sides]
        if not all(models):
            lines.append(f"- {claim}: not measured here")
            continue
        one, other = (measured[names[0]] for names in models)
        found = [f"{name} {_verdict(_difference(one, other, column))}" for column, name in enumerate(liu2016.METRICS)]
        lines.append(f"- {claim}: {'; '.join(found)}")
    return lines


def _predictions(document: Document, corpus: Corpus) -> None:
    """Perplexity, recall and variety."""
    rows = []
    for row in corpus.rows:
        perplexity, nats, kl = "-", "-", "-"
        if row.predicted is not None:
            found, interval = row.predicted.found, row.predicted.perplexity
            bound = "≤ " if found.kl else ""
            perplexity = f"{bound}{interval.estimate:.1f} [{interval.low:.1f}, {interval.high:.1f}]"
            nats, kl = f"{found.word_nats_per_reply:.1f}", f"{found.kl_per_reply:.2f}" if found.kl else "-"
        ranks = [_interval(row.recall.at[k]) if row.recall else "-" for k in (1, 5)]
        variety = (*map(_share, row.distinct), f"{row.words:.1f}", _share(row.same))
        rows.append([_name(row), perplexity, nats, kl, *ranks, *variety])
    document.text(PREDICTIONS_TEXT)
    costs = ["perplexity", "nats per reply", "KL per reply", "recall@1 of 10", "recall@5 of 10"]
    document.table(["model", *costs, "distinct-1", "distinct-2", "words", "is the true reply"], rows)


def _samples(document: Document, corpus: Corpus) -> None:
    """Each model's replies to the first contexts."""
    document.text(SAMPLES_TEXT)
    for number, place in enumerate(corpus.places[: len(corpus.rows[0].samples)]):
        document.text(f"> {_words(place.context[-1])}")
        rows = [["true reply", _words(place.response)]]
        rows += [[_name(row), _words(row.samples[number])] for row in corpus.rows[1:]]
        document.table(["model", "reply"], rows)


def _models(document: Document, corpus: Corpus) -> None:
    """The settings of each model."""
    signatures = {row.signature: _name(row) for row in corpus.rows if row.signature}
    document.text("## The models", "\n".join(f"- {name}: `{found}`" for found, name in signatures.items()))


SECTIONS: Mapping[str, Callable[[Document, Corpus], None]] = {
    "table_2": _table_2,
    "predictions": _predictions,
    "samples": _samples,
    "models": _models,
}
"""In the order of the page."""


def _verdict(found: Interval) -> str:
    word = "above" if found.low > 0 else "below" if found.high < 0 else "no clear difference"
    return f"{word} ({found.estimate:+.3f} [{found.low:+.3f}, {found.high:+.3f}])"


def _difference(one: Row, other: Row, column: int) -> Interval:
    """The mean of the differences on the same contexts."""
    return mean_interval(one.scores[:, column] - other.scores[:, column])


def _name(row: Row) -> str:
    return row.name if row.model == RANDOM else f"`{row.name}`"


def _interval(found: Interval) -> str:
    return f"{_share(found.estimate)} [{_share(found.low)}, {_share(found.high)}]"


def _share(value: float) -> str:
    """.123, as the papers write a number between 0 and 1."""
    return f"{value:.3f}".replace("0.", ".", 1)


def _words(text: str) -> str:
    return " ".join(text.split()) or "(nothing)"
