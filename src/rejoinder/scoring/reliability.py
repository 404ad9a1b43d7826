"""Whether a metric can be relied on for a reply, and for how many replies of each system it cannot.

A verdict does not rest on many such replies. What a metric knows of its limits is in `evaluators/bounds`.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import counted, names_text
from rejoinder.text.language import UNKNOWN_LANGUAGE, evidence, language_of_all, name_of

MOST_DOUBTFUL = 0.1
"""The share of a system's replies above which nothing is decided by the metric."""

OTHER_METRICS = "ask a judge (-m 'judge(...)'), or choose a metric that applies to such replies (-m)."
_MOST_FILES = 4


def remedy(files: Sequence[Path] = ()) -> str:
    """What decides a comparison that a metric cannot; the commands have the names of the files that are compared."""
    named = shlex.join(map(str, files if 0 < len(files) <= _MOST_FILES else ("old.jsonl", "new.jsonl")))
    return (
        f"What to do: let people rate 50 replies (`rejoinder sample {named} --labels 50 -o to_label.csv`) and decide "
        f"(`rejoinder compare {named} --labels to_label.csv`), {OTHER_METRICS}"
    )


_MOST_SYSTEMS = 3

Status = Literal["reliable", "doubtful", "not applicable", "unmeasured"]
"""What is known of one score.

reliable: within the bounds in which the metric orders replies as people do. doubtful: beyond them. not applicable: the
score says nothing about such a reply. unmeasured: the metric's bounds are not known; it decides all the same.
"""


@dataclass(frozen=True, slots=True)
class Reliability:
    """Whether a metric can be relied on for one reply."""

    status: Status
    reasons: tuple[str, ...] = ()
    """Kinds of replies, in words, that this one is of."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the score is one that nothing is decided by."""
        return self.status in ("doubtful", "not applicable")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"status": self.status, "reasons": list(self.reasons)}


def reply_reliability(metric: Metric, batch: Batch) -> list[Reliability]:
    """Whether a metric can be relied on, for each reply of the batch; an empty reply is scored as the worst one."""
    if not metric.knows_limits:
        return [Reliability("unmeasured")] * len(batch)
    beyond, excluded = metric.doubts(batch), dict(metric.inapplicable(batch))
    for need in sorted(metric.needs):
        excluded[f"without {need}"] = np.array([not getattr(example, need) for example in batch.examples], np.bool_)
    found = []
    for row in range(len(batch)):
        reasons = {
            status: tuple(kind for kind, flags in kinds.items() if flags[row])
            for status, kinds in (("not applicable", excluded), ("doubtful", beyond))
        }
        status: Status = "not applicable" if reasons["not applicable"] else "doubtful"
        found.append(Reliability(status, reasons[status]) if reasons[status] else Reliability("reliable"))
    return found


@dataclass(frozen=True, slots=True)
class Doubt:
    """How many of a system's replies are of kinds that a metric cannot be relied on for."""

    replies: int
    """All replies of the system."""
    doubtful: int
    """Those that are doubtful or that the metric does not apply to."""
    kinds: Mapping[str, int]
    """Kind of reply, in words -> how many are of it; a reply may be of several."""
    inapplicable: int = 0
    """Those that the metric does not apply to."""

    @property
    def is_large(self) -> bool:
        """Whether nothing is decided by the metric."""
        return self.doubtful > MOST_DOUBTFUL * self.replies

    def sentence(self, system: str) -> str:
        """'24 of 80 replies of v2 (20 longer than 45 words, 12 with lists)'; a single kind is not counted again."""
        kinds = ", ".join(f"{count:,} {kind}" if len(self.kinds) > 1 else kind for kind, count in self.kinds.items())
        whose = f" of {system}" if system else ""
        return f"{self.doubtful:,} of {counted(self.replies, 'reply', 'replies')}{whose} ({kinds})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "replies": self.replies,
            "doubtful": self.doubtful,
            "not_applicable": self.inapplicable,
            "kinds": dict(self.kinds),
        }


Doubts = Mapping[str, Doubt]
"""System -> the doubts about one metric's scores of its replies."""


def reason(
    metric: str, doubts: Doubts, systems: Sequence[str], languages: Mapping[str, Mapping[str, int]] | None = None
) -> str:
    """Why nothing is decided by a metric, as a clause; "" where none of these systems has too many doubtful replies.

    `languages`: system -> code of a language -> replies; a foreign language is then named.
    """
    large = {system: doubts[system] for system in systems if system in doubts and doubts[system].is_large}
    if not large:
        return ""
    told = [
        _named_language(doubt.sentence(system), (languages or {}).get(system, {}))
        for system, doubt in list(large.items())[:_MOST_SYSTEMS]
    ]
    more = len(large) - len(told)
    if more:
        told.append(f"many replies of {counted(more, 'other system')}")
    return f"{metric} cannot judge {names_text(told)}: it is not known to order such replies as people do"


_FOREIGN = re.compile(r"in another language than ([A-Z]\w+)")
_MOSTLY = 0.9


def _named_language(sentence: str, counts: Mapping[str, int]) -> str:
    """The same, with the foreign language that nearly all foreign replies are in: "in German, not English"."""
    found = _FOREIGN.search(sentence)
    others = {code: n for code, n in counts.items() if found and name_of(code) != found[1] and code != UNKNOWN_LANGUAGE}
    most = max(others, key=others.__getitem__, default="")
    if found is None or not most or others[most] < _MOSTLY * sum(others.values()):
        return sentence
    return sentence.replace(found[0], f"in {name_of(most)}, not {found[1]}")


class DoubtCounter:
    """Counts the replies of each system that a metric, which knows its limits, cannot be relied on for, by batches."""

    def __init__(self, metric: Metric, system_names: Sequence[str]) -> None:
        self.metric, self.system_names = metric, system_names
        self.replies, self.doubtful, self.inapplicable, self.unknown = np.zeros((4, len(system_names)), np.int64)
        """`unknown`: replies of which only the language is not known."""
        self.kinds: dict[str, Ints] = {}
        """Kind of reply -> how many replies of each system are of it."""

    def add(self, batch: Batch, systems: Ints) -> None:
        """Take a batch into account; `systems` has the index of each example's system."""
        beyond, excluded = self.metric.doubts(batch), self.metric.inapplicable(batch)
        none = np.zeros(len(batch), np.bool_)
        self.replies += self._per_system(systems)
        self.doubtful += self._per_system(systems[np.logical_or.reduce([none, *beyond.values(), *excluded.values()])])
        self.inapplicable += self._per_system(systems[np.logical_or.reduce([none, *excluded.values()])])
        if self.metric.language:
            from rejoinder.evaluators.bounds import languages_of

            fine = ~np.logical_or.reduce([batch.blank, *beyond.values(), *excluded.values()])
            unknown = np.array([code == UNKNOWN_LANGUAGE for code in languages_of(batch)], np.bool_)
            self.unknown += self._per_system(systems[fine & unknown])
        for kind, flags in {**excluded, **beyond}.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + self._per_system(systems[flags])

    def _per_system(self, systems: Ints) -> Ints:
        return np.bincount(systems, minlength=len(self.system_names))

    def state(self) -> State:
        """All counts: rows for the replies, the doubtful ones, those that do not apply, those whose language is not
        known, and one per kind. (4 + kinds, systems)"""
        rows = [self.replies, self.doubtful, self.inapplicable, self.unknown, *self.kinds.values()]
        return {"counts": np.stack(rows), "kinds": np.array([*self.kinds], np.str_)}

    def merge(self, state: State) -> None:
        """Add the replies that another one counted."""
        replies, doubtful, inapplicable, unknown, *kinds = state["counts"]
        self.replies += replies
        self.doubtful += doubtful
        self.inapplicable += inapplicable
        self.unknown += unknown
        for kind, counts in zip(state["kinds"].tolist(), kinds, strict=True):
            self.kinds[kind] = self.kinds.get(kind, 0) + counts

    def found(self, pooled: Mapping[str, str]) -> dict[str, Doubt]:
        """System -> what was counted; systems without a doubtful reply are left out.

        `pooled`: system -> the language of those of its replies that are too short to tell one by one.
        """
        found = {}
        for row, name in enumerate(self.system_names):
            other = name_of(pooled.get(name, UNKNOWN_LANGUAGE)) not in (self.metric.language, name_of(UNKNOWN_LANGUAGE))
            more = int(self.unknown[row]) if other and self.metric.language else 0
            kinds = {kind: int(counts[row]) for kind, counts in self.kinds.items() if counts[row]}
            if more:
                from rejoinder.evaluators.bounds import foreign

                kind = foreign(self.metric.language)
                kinds = {kind: kinds.pop(kind, 0) + more, **kinds}
            doubtful = int(self.doubtful[row]) + more
            if doubtful:
                found[name] = Doubt(int(self.replies[row]), doubtful, kinds, int(self.inapplicable[row]) + more)
        return found


_MOST_POOLED = 50
"""Different replies of a system whose language is told from all of them together."""


@dataclass
class LanguageCounter:
    """Counts the languages of each system's replies, batch by batch.

    Replies that are too short to tell one by one ("Ja, gerne.") are told together: those of one system are taken to be
    in one language.
    """

    system_names: Sequence[str]
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Index of a system, code of a language -> replies."""
    pools: list[dict[int, tuple[float, ...]]] = field(default_factory=list)
    """For each system, the hash of a short reply -> what it says of the language; those with the lowest hashes."""

    def __post_init__(self) -> None:
        self.pools = [{} for _ in self.system_names]

    def add(self, batch: Batch, systems: Ints) -> None:
        """Take a batch into account; `systems` has the index of each example's system."""
        from rejoinder.evaluators.bounds import languages_of

        codes = languages_of(batch)
        self.counts.update(zip(systems.tolist(), codes, strict=True))
        for example, system, code in zip(batch.examples, systems.tolist(), codes, strict=True):
            if code == UNKNOWN_LANGUAGE and any(map(str.isalpha, example.response)):
                key, pool = _hash(example.response), self.pools[system]
                if key not in pool and (len(pool) < _MOST_POOLED or key < max(pool)):
                    self._keep(system, {key: evidence(example.response)})

    def _keep(self, system: int, more: Mapping[int, tuple[float, ...]]) -> None:
        lowest = sorted(self.pools[system] | dict(more))[:_MOST_POOLED]
        self.pools[system] = {key: (self.pools[system] | dict(more))[key] for key in lowest}

    def pooled(self) -> dict[str, str]:
        """System -> code of the language of its short replies, where it is told from all of them together."""
        codes = {
            name: language_of_all([*pool.values()]) for name, pool in zip(self.system_names, self.pools, strict=True)
        }
        return {name: code for name, code in codes.items() if code != UNKNOWN_LANGUAGE}

    def state(self) -> State:
        """All counts."""
        keys = list(self.counts)
        rows = [(system, key, values) for system, pool in enumerate(self.pools) for key, values in pool.items()]
        return {
            "pools": np.array([(system, key) for system, key, _ in rows], np.int64).reshape(-1, 2),
            "evidence": np.array([values for *_, values in rows], np.float64),
            "systems": np.array([system for system, _ in keys], np.int64),
            "languages": np.array([code for _, code in keys], np.str_),
            "counts": np.array([self.counts[key] for key in keys], np.int64),
        }

    def merge(self, state: State) -> None:
        """Add the replies that another one counted."""
        for (system, key), values in zip(state["pools"].tolist(), state["evidence"].tolist(), strict=True):
            self._keep(system, {key: tuple(values)})
        keys = zip(state["systems"].tolist(), state["languages"].tolist(), strict=True)
        self.counts.update(dict(zip(keys, state["counts"].tolist(), strict=True)))

    def found(self) -> dict[str, dict[str, int]]:
        """System -> code of a language -> replies, the most frequent first."""
        pooled, totals = self.pooled(), Counter[tuple[int, str]]()
        for (system, code), count in self.counts.items():
            told = pooled.get(self.system_names[system], UNKNOWN_LANGUAGE) if code == UNKNOWN_LANGUAGE else code
            totals[system, told] += count
        found: dict[str, dict[str, int]] = {}
        for (system, code), count in sorted(totals.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
            found.setdefault(self.system_names[system], {})[code] = count
        return found


_MOST_LOOKED_AT = 100_000
"""Replies of a system that are looked at for repetition."""
_FEWEST_CONTEXTS = 10
_LARGE_SHARE = 0.2
_FEW_DIFFERENT = 0.5
"""Different replies per context up to which a system is said to have few, if it has as many contexts as follows."""
_CONTEXTS_FOR_DIFFERENT = 20


@dataclass
class RepetitionCounter:
    """Finds systems that give one and the same reply to many contexts, batch by batch."""

    system_names: Sequence[str]
    pairs: defaultdict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    """Index of a system -> the different pairs of a reply and its context, as hashes."""

    def add(self, batch: Batch, systems: Ints) -> None:
        """Take a batch into account; `systems` has the index of each example's system."""
        for example, system in zip(batch.examples, systems.tolist(), strict=True):
            if example.context and example.response and len(self.pairs[system]) < _MOST_LOOKED_AT:
                self.pairs[system].add((_hash(example.response), _hash("\n".join(example.context))))

    def state(self) -> State:
        """All pairs."""
        rows = [(system, *pair) for system, pairs in sorted(self.pairs.items()) for pair in sorted(pairs)]
        return {"pairs": np.array(rows, np.int64).reshape(-1, 3)}

    def merge(self, state: State) -> None:
        """Add the replies that another one saw."""
        for system, reply, context in state["pairs"].tolist():
            self.pairs[system].add((reply, context))

    def notes(self) -> list[str]:
        """One sentence for each system that gives one reply to a fifth of its contexts or more, or only few replies."""
        found = []
        for system, name in enumerate(self.system_names):
            pairs = self.pairs[system]
            replies = Counter(reply for reply, _ in pairs)
            [(_, most)] = replies.most_common(1) or [(0, 0)]
            if len(pairs) >= _CONTEXTS_FOR_DIFFERENT and 1 < len(replies) <= _FEW_DIFFERENT * len(pairs):
                whose = f" of {name}" if name else ""
                different = f"only {len(replies):,} different replies{whose} are given to {len(pairs):,} contexts"
                found.append(f"{different}, one of them to {most:,}")
            elif most >= max(_FEWEST_CONTEXTS, _LARGE_SHARE * len(pairs)):
                whose = f" of {name}" if name else ""
                found.append(f"one and the same reply{whose} is given to {most:,} of {len(pairs):,} contexts")
        return found


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))
