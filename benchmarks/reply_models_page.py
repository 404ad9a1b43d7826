"""The page of benchmarks/reply_models.py: tables, the order found, sample replies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from reply_models_published import CLAIMS, CORPORA, published

if TYPE_CHECKING:
    from reply_models import Corpus, Row

SHORT = ("average", "greedy", "extrema")

INTRODUCTION = """\
# Reply models in figures

how-not's Table 2 (Liu et al. 2016) on other corpora, written by `benchmarks/reply_models.py`. Each model gave one reply
to each of the same contexts; the embedding metrics compare it with the true reply. Intervals are of 95 % over contexts.
How the models work: [reply-models.md](reply-models.md). "Random reply" is the true reply of another context: what the
metrics give for nothing. The paper's figures are of other corpora and word vectors: its order can be compared with
ours, its values cannot.
"""

FORETOLD = """\
Perplexity is that of every reply in the same dialogues over the byte pairs that models trained on the same dialogues
share; what the replies cost a pretrained model, in tokens of its own, is shared out among the same. For VHRED it is a
bound from above, made of reconstruction and KL. recall@k is the share of true replies among the first k of ten
candidates. Where a model that copies finds the true reply word for word, another dialogue of its corpus has it too:
some dialogues of these corpora are near copies of each other.
"""


def page(corpora: Sequence[Corpus], metrics: Sequence[str], signature: str, seed: int, note: str) -> str:
    """The whole page in Markdown; the note says what a reader must know of these very models."""
    parts = [
        INTRODUCTION,
        *([f"{note.strip()}\n"] if note else []),
        f"Metrics: {', '.join(metrics)}, as in `{signature}`. Seed: {seed}.\n",
    ]
    for corpus in corpora:
        parts += [f"## {corpus.name}\n", f"{len(corpus.places)} contexts of test, one a dialogue.\n"]
        parts += [_table_2(corpus.rows), _order(corpus.rows), _claims(corpus.rows), FORETOLD, _others(corpus.rows)]
        parts.append(_samples(corpus))
    parts.append("## The models\n")
    signatures = {row.signature: _name(row) for corpus in corpora for row in corpus.rows if row.signature}
    parts += [f"- {name}: `{signature}`" for signature, name in signatures.items()]
    return "\n".join(parts) + "\n"


def _table_2(rows: Sequence[Row]) -> str:
    heads = [*SHORT, *(f"paper, {name}: {' / '.join(SHORT)}" for name in CORPORA)]
    lines = [f"| model | trained on | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for row in rows:
        known = published(row.model)
        theirs = [" / ".join(map(_share, known[name])) if known else "-" for name in CORPORA]
        cells = [_name(row), ", ".join(row.trained_on) or "-", *map(_interval, row.means), *theirs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _order(rows: Sequence[Row]) -> str:
    """The models from the highest mean down; what stands beside each other by `=` cannot be told apart."""
    lines = [
        "The order found; `=` where the mean difference of two neighbours may be 0, `>` where it is above. Only\n"
        "neighbours are compared, without a correction for their number: the ends of a chain of `=` may well differ.\n"
    ]
    for column, name in enumerate(SHORT):
        ranked = sorted(rows, key=lambda row: -row.means[column].estimate)
        text = ranked[0].name
        for better, worse in pairwise(ranked):
            text += f" {'>' if _difference(better, worse, column).low > 0 else '='} {worse.name}"
        lines.append(f"- {name}: {text}")
    return "\n".join(lines) + "\n"


def _claims(rows: Sequence[Row]) -> str:
    """What the paper reads off its table, beside what these data say of it."""
    lines = ["What the paper reads off its own table, and what these contexts say, by the mean difference:\n"]
    for claim, *sides in CLAIMS:
        found = [next((row for name in names for row in rows if row.model == name), None) for names in sides]
        if found[0] is None or found[1] is None:
            lines.append(f"- {claim}: not measured here")
            continue
        said = [_verdict(_difference(found[0], found[1], column)) for column in range(len(SHORT))]
        told = "; ".join(f"{name} {verdict}" for name, verdict in zip(SHORT, said, strict=True))
        lines.append(f"- {claim}: {told}")
    return "\n".join(lines) + "\n"


def _verdict(found: Interval) -> str:
    word = "above" if found.low > 0 else "below" if found.high < 0 else "not to be told apart"
    return f"{word} ({found.estimate:+.3f} [{found.low:+.3f}, {found.high:+.3f}])"


def _difference(one: Row, other: Row, column: int) -> Interval:
    """The mean of the differences on the same contexts."""
    return mean_interval(one.scores[:, column] - other.scores[:, column])


def _others(rows: Sequence[Row]) -> str:
    lines = [
        "| model | perplexity | nats a reply | KL a reply | recall@1 of 10 | recall@5 of 10 "
        "| distinct-1 | distinct-2 | words | is the true reply |",
        "|---" * 10 + "|",
    ]
    for row in rows:
        perplexity, nats, kl = "-", "-", "-"
        if row.foretold is not None:
            found, interval = row.foretold.found, row.foretold.perplexity
            bound = "≤ " if found.kl else ""
            perplexity = f"{bound}{interval.estimate:.1f} [{interval.low:.1f}, {interval.high:.1f}]"
            nats, kl = f"{found.word_nats_per_reply:.1f}", f"{found.kl_per_reply:.2f}" if found.kl else "-"
        ranks = [_interval(row.recall.at[k]) if row.recall else "-" for k in (1, 5)]
        cells = [
            _name(row),
            perplexity,
            nats,
            kl,
            *ranks,
            *map(_share, row.distinct),
            f"{row.words:.1f}",
            _share(row.same),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _samples(corpus: Corpus) -> str:
    lines = ["Sample replies, to the first contexts that were drawn (their last turn is shown):\n"]
    for number, place in enumerate(corpus.places[: len(corpus.rows[0].samples)]):
        lines += [f"> {_cell(place.context[-1])}\n", "| model | reply |", "|---|---|"]
        lines.append(f"| true reply | {_cell(place.response)} |")
        lines += [f"| {_name(row)} | {_cell(row.samples[number])} |" for row in corpus.rows[1:]]
        lines.append("")
    return "\n".join(lines)


def _name(row: Row) -> str:
    return row.name if row.model == "random" else f"`{row.name}`"


def _interval(found: Interval) -> str:
    return f"{_share(found.estimate)} [{_share(found.low)}, {_share(found.high)}]"


def _share(value: float) -> str:
    """.123, as the papers write what lies within 0 and 1."""
    return f"{value:.3f}".replace("0.", ".", 1)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") or "(nothing)"
