"""How agreement changes: noisy labels, damaged replies, true replies left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ints
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.scorer import Scorer
from rejoinder.show.figures import IntervalPanel, LinePanel, PlotCurve
from rejoinder.show.text import number_text, signed
from rejoinder.stats.correlation import correlate, midranks
from rejoinder.stats.correlation_intervals import correlation_replicates
from rejoinder.stats.intervals import Interval, bootstrap_bounds
from rejoinder.stats.resampling import mean_interval
from rejoinder.text.tokens import STOP_WORDS, tokenise
from rejoinder.trusting.human_scale import (
    FEWEST,
    HumanScale,
    above,
    below,
    clipped,
    comparable,
    enumerated,
    left_out,
    listed_with,
    of_true_systems,
    own_references,
    replies,
    scale_of,
)
from rejoinder.trusting.probing import ScoredSet, TableCell, TableResult
from rejoinder.types import Example, Scores

# How noise on the labels and rounding of the scores change a correlation (Zhao et al. 2020, appendix D).


SIGMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Standard deviations of the noise, in steps of the human scale: points on 1..5."""
TRIALS = 100
KINDS = ("pearson", "spearman")
NOISE_HEADER = (
    "metric",
    "coefficient",
    "exact",
    *(f"noise {sigma:g}" for sigma in SIGMAS[1:]),
    f"sd at {SIGMAS[-1]:g}",
    "rounded",
)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseTrials:
    """One kind of correlation of every metric with noisy labels."""

    kind: str
    drawn: Floats  # (sigmas, trials, metrics)
    rounded: Floats  # (metrics,): of scores rounded to whole steps, without noise


def noise_probe(scored: ScoredSet) -> TableResult | None:
    """Correlations over a hundred draws of noise per strength, and correlations of rounded scores."""
    part = comparable(scored)
    if part is None:
        return None
    scale = scale_of(scored)
    trials = [_trials(part, scale, kind) for kind in KINDS]
    rows = [_noise_row(label, place, table) for place, label in enumerate(part.scores) for table in trials]
    panels = [_noise_panel(part, table) for table in trials]
    title, source = "Noise on labels, rounding of scores", "Zhao et al. 2020, appendix D"
    return TableResult(
        "noise", title, source, NOISE_HEADER, tuple(rows), tuple(_noise_sentences(part, trials)), tuple(panels)
    )


def noisy_correlations(matrix: Floats, human: Scores, sigma: float, kind: str, *, seed: int = 0) -> Floats:
    """Each metric's correlation with the labels in each trial. (trials, metrics)

    A trial's noise is the same for all metrics and, up to its scale, for every sigma.
    """
    ranked = kind == "spearman"
    columns = np.stack([_unit(midranks(column) if ranked else column) for column in matrix.T], axis=1)
    found = np.empty((TRIALS, matrix.shape[1]))
    for trial in range(TRIALS):
        noise = np.random.default_rng([seed, trial]).normal(size=human.size)
        labels = human + sigma * noise
        found[trial] = _unit(midranks(labels) if ranked else labels) @ columns
    return found


def _unit(values: Scores) -> Scores:
    """The centred values, scaled to length 1; NaN where they are all equal."""
    if np.ptp(values) == 0:
        return np.full(values.shape, np.nan)
    centred = values - values.mean()
    unit: Scores = centred / np.linalg.norm(centred)
    return unit


def _trials(part: ScoredSet, scale: HumanScale, kind: str) -> NoiseTrials:
    matrix = np.stack([part.oriented(label) for label in part.scores], axis=1)
    drawn = [noisy_correlations(matrix, part.human, sigma * scale.step, kind, seed=part.seed) for sigma in SIGMAS]
    rounded = [
        correlate(scale.rounded(clipped(part, label, scale)), part.human, kind).coefficient for label in part.scores
    ]
    return NoiseTrials(kind, np.stack(drawn), np.array(rounded))


def _noise_row(label: str, place: int, table: NoiseTrials) -> tuple[TableCell, ...]:
    exact, *means = table.drawn[:, :, place].mean(axis=1).tolist()
    spread = float(table.drawn[-1, :, place].std(ddof=1))
    return (label, table.kind.capitalize(), exact, *means, spread, float(table.rounded[place]))


def _noise_panel(part: ScoredSet, table: NoiseTrials) -> LinePanel:
    mean, spread = table.drawn.mean(axis=1), table.drawn.std(axis=1, ddof=1)  # (sigmas, metrics)
    curves = tuple(
        PlotCurve(
            label,
            SIGMAS,
            tuple(mean[:, place].tolist()),
            tuple((mean - spread)[:, place].tolist()),
            tuple((mean + spread)[:, place].tolist()),
        )
        for place, label in enumerate(part.scores)
    )
    kind = table.kind.capitalize()
    return LinePanel(
        f"{kind} with noisy labels: mean and standard deviation of {TRIALS} draws",
        curves,
        "noise (standard deviation, in steps of the scale)",
        kind,
    )


def _noise_sentences(part: ScoredSet, trials: list[NoiseTrials]) -> list[str]:
    labels, table = list(part.scores), trials[-1]
    exact, noisy = table.drawn[0, 0], table.drawn[-1].mean(axis=0)
    known = np.flatnonzero(~np.isnan(exact))
    if not len(known):
        return ["Every metric gives all replies the same score, so there is no correlation for noise to change."]
    best = int(known[np.argmax(exact[known])])
    sentences = [
        f"Noise of {SIGMAS[-1]:g} steps of the scale lowers the highest {table.kind.capitalize()} correlation, that of "
        f"{labels[best]}, from {number_text(float(exact[best]))} to {number_text(float(noisy[best]))} "
        f"(standard deviation {number_text(float(table.drawn[-1, :, best].std(ddof=1)))} over {TRIALS} draws)."
    ]
    if len(known) > 1:
        first = known[np.argmax(table.drawn[-1][:, known], axis=1)] == best
        orders = np.argsort(-table.drawn[-1][:, known], axis=1, kind="stable")
        same = (orders == np.argsort(-exact[known], kind="stable")).all(axis=1)
        sentences.append(
            f"{labels[best]} stays first in {int(first.sum())} of the {TRIALS} draws, and the order of all metrics "
            f"stays the same in {int(same.sum())}."
        )
    return sentences + [_rounding(labels, table) for table in trials if not np.isnan(table.rounded).all()]


def _rounding(labels: list[str], table: NoiseTrials) -> str:
    moved = table.rounded - table.drawn[0, 0]
    most = int(np.nanargmax(np.abs(moved)))
    kind = table.kind.capitalize()
    return f"Rounding scores to whole steps changes the {kind} of {labels[most]} most: {signed(float(moved[most]))}."


# How scores change when good replies are damaged (after Sai et al. 2019).
#
# A trustworthy metric scores a reply lower when its words are shuffled, dropped or repeated, or when it is replaced by
# "I don't know"; removing punctuation should not matter.


MOST = 500
"""Most replies that are perturbed, a random sample where there are more."""
SAME = 1e-5
"""Scores that differ by at most this many standard deviations are equal: the order of a sum changes its rounding."""
ORIGINAL = "original"
ADVERSARIAL_HEADER = (
    "metric",
    "perturbation",
    "replies",
    "before",
    "after",
    "change",
    "share raised",
    "share unchanged",
)


@dataclass(frozen=True, slots=True)
class PerturbationEffect:
    """The effect of one perturbation on one metric's scores, in standard deviations of the metric over the data."""

    metric: str
    perturbation: Perturbation
    n: int
    """Replies that the perturbation changed and that the metric scored before and after."""
    before: float
    after: float
    moves: Interval
    flips: float
    """The share of replies that score higher than before."""
    unmoved: float


@dataclass(frozen=True, slots=True)
class PerturbedReplies:
    """Replies to perturb: their rows in the set, their words, and the words of the utterance they answer."""

    rows: Ints
    words: Sequence[TokenWords]
    answered: Sequence[TokenWords]


def adversarial_probe(scored: ScoredSet) -> TableResult | None:
    """The change of scores under each perturbation; None where no metric can score new replies."""
    own = own_references(scored.judged.examples)
    part = comparable(scored, ~own)
    metrics = {label: metric for label, metric in scored.metrics.items() if label in scored.scores}
    if part is None or not metrics:
        return None
    sample = good_sample(part)
    changed = {item.name: changed_words(item, sample, [part.seed, place]) for place, item in enumerate(PERTURBATIONS)}
    scores = _scores(part, metrics, sample, {ORIGINAL: sample.words, **changed})
    effects = [
        _effect(part, label, item, sample, changed[item.name], scores[ORIGINAL][label], scores[item.name][label])
        for label in metrics
        for item in PERTURBATIONS
    ]
    return TableResult(
        "adversarial",
        "Damaged replies",
        "Sai et al. 2019",
        ADVERSARIAL_HEADER,
        tuple(_adversarial_row(effect) for effect in effects),
        tuple(_adversarial_sentences(effects, sample, left_out(own & scored.complete))),
        tuple(_adversarial_panel(label, [effect for effect in effects if effect.metric == label]) for label in metrics),
    )


def good_sample(part: ScoredSet) -> PerturbedReplies:
    """Replies that people rate at the median or above, and that contain words."""
    words = _words([example.response for example in part.judged.examples])
    good = part.human >= np.median(part.human)
    rows = np.flatnonzero(good & np.array([bool(reply) for reply in words]))
    if len(rows) > MOST:
        rows = np.sort(np.random.default_rng(part.seed).choice(rows, MOST, replace=False))
    contexts = [part.judged.examples[row].context for row in rows]
    answered = _words([context[-1] if context else "" for context in contexts])
    return PerturbedReplies(rows, [words[row] for row in rows], answered)


def changed_words(perturbation: Perturbation, sample: PerturbedReplies, seed: Sequence[int]) -> list[TokenWords]:
    """The words of every reply of the sample, perturbed."""
    rng = np.random.default_rng(seed)
    pairs = zip(sample.words, sample.answered, strict=True)
    return [perturbation.change(words, answered, rng) for words, answered in pairs]


def _words(texts: Sequence[str]) -> list[TokenWords]:
    column = tokenise(pl.Series(texts, dtype=pl.String), "words", lowercase=False)
    return [tuple(words) for words in column.to_list()]


def _scores(
    part: ScoredSet,
    metrics: Mapping[str, Metric],
    sample: PerturbedReplies,
    versions: Mapping[str, Sequence[TokenWords]],
) -> dict[str, dict[str, Scores]]:
    """Version -> metric -> one score per reply.

    A metric that first reads a corpus (for document frequencies) reads the unperturbed judged set.
    """
    scorer = Scorer(metrics, tuple(dict.fromkeys(example.system for example in part.judged.examples)))
    if scorer.must_observe:
        scorer.observe(Batch(part.judged.examples))
    scorer.finish_observing()
    return {version: scorer.score(Batch(_examples(part, sample, words))) for version, words in versions.items()}


def _examples(part: ScoredSet, sample: PerturbedReplies, words: Sequence[TokenWords]) -> list[Example]:
    """The sample's examples with other replies.

    Words are joined by one space, before and after the perturbation, so that spacing does not change a score.
    """
    return [
        dataclasses.replace(part.judged.examples[row], response=" ".join(reply))
        for row, reply in zip(sample.rows.tolist(), words, strict=True)
    ]


def _effect(
    part: ScoredSet,
    label: str,
    perturbation: Perturbation,
    sample: PerturbedReplies,
    changed: Sequence[TokenWords],
    before: Scores,
    after: Scores,
) -> PerturbationEffect:
    own = part.scores[label]
    deviation = float(own.std(ddof=1))
    unit = deviation if part.metrics[label].higher_is_better else -deviation
    differs = np.array([old != new for old, new in zip(sample.words, changed, strict=True)])
    used: NDArray[np.bool_] = differs & ~np.isnan(before) & ~np.isnan(after)
    if not used.any() or deviation == 0:
        unknown = Interval(np.nan, np.nan, np.nan)
        return PerturbationEffect(label, perturbation, int(used.sum()), np.nan, np.nan, unknown, np.nan, np.nan)
    first, second = ((scores[used] - own.mean()) / unit for scores in (before, after))
    moved = np.where(np.abs(second - first) <= SAME, 0.0, second - first)
    contexts = part.judged.contexts[sample.rows[used]]
    return PerturbationEffect(
        label,
        perturbation,
        int(used.sum()),
        float(first.mean()),
        float(second.mean()),
        mean_interval(moved, contexts, part.resamples, seed=part.seed),
        float((moved > 0).mean()),
        float((moved == 0).mean()),
    )


def _adversarial_row(effect: PerturbationEffect) -> tuple[TableCell, ...]:
    numbers = (effect.n, effect.before, effect.after, effect.moves, effect.flips, effect.unmoved)
    return (effect.metric, effect.perturbation.name, *numbers)


def _adversarial_panel(label: str, effects: Sequence[PerturbationEffect]) -> IntervalPanel:
    rows = tuple((effect.perturbation.name, effect.moves) for effect in effects)
    return IntervalPanel(f"{label}: change of its score, in its standard deviations", rows)


def _adversarial_sentences(effects: Sequence[PerturbationEffect], sample: PerturbedReplies, note: str) -> list[str]:
    metrics = dict.fromkeys(effect.metric for effect in effects)
    return [
        f"{replies(len(sample.rows))} that people rate at the median or above were perturbed. A trustworthy metric "
        f"lowers its score for every perturbation except the last, punctuation removed.{note}",
        *(_sentence([effect for effect in effects if effect.metric == label]) for label in metrics),
    ]


def _sentence(effects: Sequence[PerturbationEffect]) -> str:
    """One metric in one sentence."""
    damaging = [effect for effect in effects if effect.perturbation.lowers and not np.isnan(effect.moves.estimate)]
    if not damaging:
        return f"{effects[0].metric} could not score any perturbed reply, or gives all replies the same score."
    raised = [effect for effect in damaging if above(effect.moves)]
    blind = [effect for effect in damaging if not below(effect.moves) and effect not in raised]
    lowered = len(damaging) - len(raised) - len(blind)
    parts = [f"{effects[0].metric} scores lower under {lowered} of the {len(damaging)} damaging perturbations"]
    if blind:
        parts.append(f"does not clearly change under {enumerated([effect.perturbation.name for effect in blind])}")
    if raised:
        named = [f"{effect.perturbation.name} ({signed(effect.moves.estimate)})" for effect in raised]
        parts.append(f"scores higher under {enumerated(named)}")
    fooled = max(damaging, key=lambda effect: effect.flips)
    if fooled.flips > 0:
        parts.append(f"{fooled.perturbation.name} raises the score of the most replies, {fooled.flips:.0%}")
    for effect in effects:
        if not effect.perturbation.lowers and effect.n:
            size = abs(effect.moves.estimate)
            further = sum(size > abs(other.moves.estimate) for other in damaging)
            parts.append(
                f"{effect.perturbation.name}, which should not matter, changes it by {signed(effect.moves.estimate)}"
                + (f", more than {further} of the {len(damaging)} do" if further else "")
            )
    return "; ".join(parts) + "."


# Ways to damage a reply, after Sai et al. 2019 ("Re-evaluating ADEM").
#
# Words in, words out. No perturbation returns an empty reply: where there is nothing to change, the words stay the
# same.


TokenWords = tuple[str, ...]
Change = Callable[[TokenWords, TokenWords, np.random.Generator], TokenWords]
"""The words of a reply, the words of the utterance that it answers, and a random generator -> new words."""

SHARE = 0.3
"""The share of words that are dropped or repeated; at least one word is."""
GENERIC: tuple[TokenWords, ...] = (
    ("i", "don't", "know", "."),
    ("i'm", "not", "sure", "."),
    ("that's", "nice", "."),
)
"""Replies that fit any context."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change to replies, and how it should affect their scores."""

    name: str
    lowers: bool
    """Whether a person would rate the changed reply lower; otherwise the change should not matter."""
    change: Change


def word_drop(words: TokenWords, rng: np.random.Generator) -> TokenWords:
    """The reply without some of its words."""
    if len(words) < 2:
        return words
    dropped = set(_some(words, rng))
    return tuple(word for place, word in enumerate(words) if place not in dropped)


def shuffle(words: TokenWords, rng: np.random.Generator) -> TokenWords:
    """The same words in another order."""
    if len(set(words)) < 2:
        return words
    shuffled = tuple(words[place] for place in rng.permutation(len(words)))
    # Unless all words are equal, moving the first one to the end gives another sequence.
    return shuffled if shuffled != words else (*words[1:], words[0])


def repetition(words: TokenWords, rng: np.random.Generator) -> TokenWords:
    """The reply with some of its words repeated."""
    repeated = set(_some(words, rng))
    return tuple(word for place, word in enumerate(words) for _ in range(1 + (place in repeated)))


def reversed_words(words: TokenWords) -> TokenWords:
    """The words from last to first."""
    return words[::-1]


def without_stop_words(words: TokenWords) -> TokenWords:
    """The reply without English function words."""
    return tuple(word for word in words if word.lower().replace("’", "'") not in STOP_WORDS) or words


def without_punctuation(words: TokenWords) -> TokenWords:
    """The reply without tokens that contain neither a letter nor a digit."""
    return tuple(word for word in words if any(character.isalnum() for character in word)) or words


def generic_reply(words: TokenWords, rng: np.random.Generator) -> TokenWords:
    """One of a few replies that fit any context, but not this one."""
    plain = tuple(word.lower() for word in words)
    others = [generic for generic in GENERIC if generic != plain]
    return others[int(rng.integers(len(others)))]


def echoed_context(words: TokenWords, answered: TokenWords) -> TokenWords:
    """The utterance that the reply should have answered."""
    return answered or words


def _some(words: TokenWords, rng: np.random.Generator) -> list[int]:
    """Random positions, about `SHARE` of them and at least one."""
    count = max(1, round(SHARE * len(words)))
    chosen: list[int] = rng.choice(len(words), count, replace=False).tolist() if words else []
    return chosen


PERTURBATIONS = (
    Perturbation("word drop", True, lambda words, _, rng: word_drop(words, rng)),
    Perturbation("shuffle", True, lambda words, _, rng: shuffle(words, rng)),
    Perturbation("repetition", True, lambda words, _, rng: repetition(words, rng)),
    Perturbation("reversed", True, lambda words, *_: reversed_words(words)),
    Perturbation("stop words removed", True, lambda words, *_: without_stop_words(words)),
    Perturbation("generic reply", True, lambda words, _, rng: generic_reply(words, rng)),
    Perturbation("echoed context", True, lambda words, answered, _: echoed_context(words, answered)),
    Perturbation("punctuation removed", False, lambda words, *_: without_punctuation(words)),
)


# The correlation when replies that equal their reference are left out (Zhao et al. 2020, Table 1).
#
# A metric that compares with a reference always recognises the true reply, and people like true replies: part of its
# correlation may be due to that alone. Correlations are computed with and without the true replies.


PEOPLE = "people"
WITHOUT_TRUE_HEADER = (
    "metric",
    "Pearson",
    "Pearson without",
    "Pearson change",
    "Spearman",
    "Spearman without",
    "Spearman change",
    "sd",
    "sd without",
)


@dataclass(frozen=True, slots=True)
class TrueReplyEffect:
    """A correlation over all replies, the correlation without the true ones, and the difference."""

    of_all: float
    without: float
    change: Interval


def without_true_replies_probe(scored: ScoredSet) -> TableResult | None:
    """Correlations with and without true replies; None where there are none, or too few others."""
    part = comparable(scored)
    if part is None:
        return None
    equal, named = own_references(part.judged.examples), of_true_systems(part.judged.examples)
    true = equal | named
    if not true.any() or len(true) - true.sum() < FEWEST or np.ptp(part.human[~true]) == 0:
        return None
    changes = _changes(part, true)
    rows = [_people_row(part, true), *(_without_true_row(label, changes, part, true) for label in part.scores)]
    return TableResult(
        "without-true-replies",
        "Without true replies",
        "Zhao et al. 2020, Table 1",
        WITHOUT_TRUE_HEADER,
        tuple(rows),
        tuple(_without_true_sentences(list(part.scores), changes, equal, named)),
        tuple(
            IntervalPanel(
                f"{kind.capitalize()} without true replies, minus that with them",
                tuple((label, changes[label][kind].change) for label in part.scores),
            )
            for kind in KINDS
        ),
    )


def _changes(part: ScoredSet, true: NDArray[np.bool_]) -> dict[str, dict[str, TrueReplyEffect]]:
    """Metric -> kind -> change. Both correlations of a resample use the same contexts."""
    labels = list(part.scores)
    matrix = np.stack([part.oriented(label) for label in part.scores], axis=1)
    both = np.concatenate([matrix, np.where(true[:, None], np.nan, matrix)], axis=1)
    contexts = part.judged.contexts
    replicates = correlation_replicates(both, part.human, contexts, part.resamples, part.seed, KINDS)
    n_groups = len(np.unique(contexts[~true]))

    def change(kind: str, place: int) -> TrueReplyEffect:
        of_all = correlate(matrix[:, place], part.human, kind).coefficient
        without = correlate(matrix[~true, place], part.human[~true], kind).coefficient
        drawn: Floats = replicates[kind][:, len(labels) + place] - replicates[kind][:, place]
        return TrueReplyEffect(of_all, without, bootstrap_bounds(drawn, without - of_all, n_groups))

    return {label: {kind: change(kind, place) for kind in KINDS} for place, label in enumerate(labels)}


def _without_true_row(
    label: str, changes: dict[str, dict[str, TrueReplyEffect]], part: ScoredSet, true: NDArray[np.bool_]
) -> tuple[TableCell, ...]:
    cells: list[TableCell] = []
    for kind in KINDS:
        found = changes[label][kind]
        cells += [found.of_all, found.without, found.change]
    scores = part.oriented(label)
    return (label, *cells, float(scores.std(ddof=1)), float(scores[~true].std(ddof=1)))


def _people_row(part: ScoredSet, true: NDArray[np.bool_]) -> tuple[TableCell, ...]:
    spreads = (float(part.human.std(ddof=1)), float(part.human[~true].std(ddof=1)))
    return (PEOPLE, 1.0, 1.0, "-", 1.0, 1.0, "-", *spreads)


def _without_true_sentences(
    labels: Sequence[str],
    changes: dict[str, dict[str, TrueReplyEffect]],
    equal: NDArray[np.bool_],
    named: NDArray[np.bool_],
) -> list[str]:
    both = int((equal & named).sum())
    sentences = [
        f"{replies(int((equal | named).sum()))} of {len(equal):,} are true ones: {int(equal.sum()):,} equal a "
        f'reference, {int(named.sum()):,} come from a system with a name such as "ground truth", and {both:,} are both.'
    ]
    spearman = {label: changes[label]["spearman"].change for label in labels}
    lower = {label: change.estimate for label, change in spearman.items() if below(change)}
    higher = {label: change.estimate for label, change in spearman.items() if above(change)}
    if lower:
        sentences.append(f"Without them the Spearman correlation is lower for {listed_with(lower)}.")
    if higher:
        sentences.append(f"Without them it is higher for {listed_with(higher)}.")
    if not lower and not higher:
        sentences.append("Without them no metric's Spearman correlation changes significantly.")
    return sentences
