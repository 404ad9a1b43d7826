"""Which system does a judge prefer? Replies to the same context are shown to a language model in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from typing import Any

import numpy as np

from rejoinder.arguments import checked
from rejoinder.data.preferences import Preference
from rejoinder.data.record import FieldMap, Fields
from rejoinder.data.source import OnError, Source
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.judge.cost import Plan
from rejoinder.evaluators.judge.families import family_notes
from rejoinder.evaluators.judge.judge import Judge
from rejoinder.evaluators.judge.pairs import FIRST, NEITHER, Pair, PairVerdict, planned_pairs, preferred
from rejoinder.meta.comparing.pairing import join_systems
from rejoinder.meta.judged import context_key
from rejoinder.meta.preferences.pairwise_report import Flips, PairwiseReport
from rejoinder.meta.preferences.rank import preferences
from rejoinder.registry import load
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example

_OWN_FIELDS = ("id", "context_id", "context")


@checked()
def compare_pairwise(
    *origins: Any,
    judge: str | Judge,
    pair_by: str | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> PairwiseReport:
    """Rank the systems of two or more files, lists or frames of replies by which of two replies a judge prefers.

    Replies to the same context (`context_id`, else equal context text; `pair_by` names another field) are shown in
    both orders. A reply wins where both answers prefer it; anything else is a tie.
    """
    asked = judge_of(judge)
    pairs, skipped = pairs_of(origins, pair_by=pair_by, fields=fields, on_error=on_error)
    verdicts = preferred(asked, pairs)
    usable = [(pair, verdict) for pair, verdict in zip(pairs, verdicts, strict=True) if verdict.outcome]
    if not usable:
        raise NeedsError(f"{asked.model} gave no answer that could be used to any of the {len(pairs)} pairs")
    choices = [
        Preference(a, a.system, b.system, verdict.outcome, responses=(a.response, b.response))
        for (a, b), verdict in usable
    ]
    ranked = preferences(choices, seed=seed, resamples=resamples)
    return PairwiseReport(
        ranked,
        judge=asked.model,
        signature=asked.signature,
        flips=flips_of([pair for pair, _ in usable], [verdict for _, verdict in usable], seed, resamples),
        unusable=len(pairs) - len(usable),
        notes=(*asked.notes(), *family_notes(asked.model, {one.system for pair in pairs for one in pair})),
        skipped=skipped,
    )


def plan_pairwise(
    *origins: Any,
    judge: str | Judge,
    pair_by: str | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
) -> Plan:
    """What `compare_pairwise` would send to the judge; nothing is sent."""
    return planned_pairs(judge_of(judge), pairs_of(origins, pair_by=pair_by, fields=fields, on_error=on_error)[0])


def judge_of(judge: str | Judge) -> Judge:
    """The judge that is named; a CallError if it is something else."""
    found = load(judge) if isinstance(judge, str) else judge
    if not isinstance(found, Judge):
        raise CallError(f"{judge} does not compare replies in pairs: expected judge(model=..., url=...)")
    return found


def pairs_of(
    origins: Sequence[Any], *, pair_by: str | None, fields: Fields | None, on_error: OnError
) -> tuple[list[Pair], tuple[str, ...]]:
    """All pairs of replies by different systems to one context, and messages about records that were left out."""
    if not origins or sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("expected files of replies, at most one of them - for standard input")
    given = FieldMap.given(fields)
    own = next((name for name in _OWN_FIELDS if pair_by in (name, given.of(name))), None)
    if pair_by is not None and own is None:  # a field that is not one of ours is read as the context's id
        given, own = FieldMap({**given.names, "context_id": pair_by}, given.separator), "context_id"
    with ExitStack() as stack:
        joined, _ = join_systems(
            origins, lambda some: [stack.enter_context(closing(Source(one, given, on_error))) for one in some]
        )
        pairs = list(pairs_in(joined, own))
        skipped = tuple(str(error) for source in joined.sources for error in source.skipped.values())
    if not pairs:
        raise NeedsError("no two systems replied to the same context: expected contexts that they share")
    return pairs, skipped


def pairs_in(examples: Any, pair_by: str | None = None) -> Iterator[Pair]:
    """All pairs of replies by different systems to one context; replies without a context are left out."""
    contexts: dict[object, dict[str, list[Example]]] = {}
    for example in examples:
        if example.context:
            key = getattr(example, pair_by) if pair_by else context_key(example)
            if not key:
                raise CallError(f"cannot pair by {pair_by!r}: example {example.id!r} of {example.system!r} has none")
            contexts.setdefault(key, {}).setdefault(example.system, []).append(example)
    for replies in contexts.values():
        for a, b in combinations(sorted(replies), 2):
            # Several replies of a system to one context are paired in their order.
            yield from zip(replies[a], replies[b], strict=False)


def flips_of(pairs: Sequence[Pair], verdicts: Sequence[PairVerdict], seed: int, resamples: int) -> Flips | None:
    """How often the order of the replies decides; None where the judge was asked about no pair."""
    asked = [row for row, verdict in enumerate(verdicts) if verdict.letters is not None]
    if not asked:
        return None
    codes: dict[object, int] = {}
    contexts = np.array([codes.setdefault(context_key(pairs[row][0]), len(codes)) for row in asked])
    flipped = np.array([verdicts[row].flipped for row in asked], np.float64)
    letters = [letter for row in asked for letter in (verdicts[row].letters or ()) if letter != NEITHER]
    return Flips(
        mean_interval(flipped, contexts, resamples, seed=seed, limits=(0.0, 1.0)),
        half=float(np.mean([verdicts[row].half_flipped for row in asked])),
        first=float(np.mean([letter == FIRST for letter in letters])) if letters else float("nan"),
        pairs=len(asked),
    )
