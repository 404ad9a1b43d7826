"""`faults`: all replies of a source, and what was found in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rejoinder.arrays import Bools, Ints
from rejoinder.data.contexts import GroupFinder
from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.replay import Replay
from rejoinder.data.source import Source, in_batches, survey
from rejoinder.faulting.fault import Evidence, Fault, FaultCard, FaultFinder, Reply, card, chosen_faults
from rejoinder.metrics.batch import BATCH
from rejoinder.options import FIELDS_OPTION, REPLIES_OPTION, OnError, Option, Quiet, UnitOption, one_or_more, verb
from rejoinder.progress import bar
from rejoinder.show.document import (
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Column,
    Document,
    Made,
    Result,
    Say,
    Section,
    SystemName,
    Table,
    VerdictText,
)
from rejoinder.show.markup import Html, element, joined, own_text
from rejoinder.show.text import counted, interval_text, names_text, number_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example

if TYPE_CHECKING:
    import polars

ANY = "any fault"
_MOST_TEXTS = 30
"""Replies with each fault of each system whose texts are kept for reports."""
_MOST_TOLD = 3
_EXAMPLES_PER_FAULT = 2
_CARDS_PER_FAULT = 6
_RECENT = 3
_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class FoundFault:
    """One fault of one reply."""

    id: str
    system: str
    fault: str
    evidence: Evidence
    text: str
    """The part of the reply that shows it."""
    example: Example | None = field(default=None, repr=False)
    """The reply with its context, of the first ones with each fault."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "id": self.id,
            "system": self.system,
            "fault": self.fault,
            "text": self.text,
            **self.evidence.to_dict(),
        }


@dataclass(frozen=True)
class FaultFlags:
    """Which replies have which faults."""

    names: tuple[str, ...]
    found: Bools  # (replies, faults)
    able: Bools  # (replies, faults)
    """Whether a reply has what a fault needs, such as a context."""
    faults: tuple[FoundFault, ...]

    def of(self, name: str) -> tuple[Bools, Bools]:
        """Which replies have a fault, and which can be judged; `any fault` is one of all."""
        if name == ANY:
            return np.asarray(self.found.any(axis=1)), np.asarray(self.able.any(axis=1))
        at = self.names.index(name)
        return self.found[:, at], self.able[:, at]


def flag_replies(examples: Iterable[Example], faults: Sequence[Fault], *, progress: Any = None) -> FaultFlags:
    """Look for some faults in all examples, which are read twice where a fault needs other replies."""
    finder = FaultFinder.of(faults, examples)
    names = tuple(fault.name for fault in faults)
    places = {name: at for at, name in enumerate(names)}
    found, able, told, kept = list[Bools](), list[Bools](), list[FoundFault](), Counter[tuple[str, str]]()
    for batch in in_batches(examples, BATCH):
        flags = np.zeros((len(batch), len(names)), np.bool_)
        for row, (example, named) in enumerate(zip(batch, finder.find(batch), strict=True)):
            for name, evidence in named.items():
                flags[row, places[name]] = True
                kept[name, example.system] += 1
                shown = example if kept[name, example.system] <= _MOST_TEXTS else None
                text = example.response[evidence.start : evidence.end]
                told.append(FoundFault(example.id, example.system, name, evidence, text, shown))
        found.append(flags)
        able.append(_able(batch, faults))
        if progress is not None:
            progress.update(len(batch))
    empty = np.zeros((0, len(names)), np.bool_)
    return FaultFlags(names, np.concatenate([empty, *found]), np.concatenate([empty, *able]), tuple(told))


def _able(batch: Sequence[Example], faults: Sequence[Fault]) -> Bools:
    able = np.ones((len(batch), len(faults)), np.bool_)
    needing = [at for at, fault in enumerate(faults) if fault.needs]
    for row, example in enumerate(batch):
        if len(example.context) < 2 or example.speakers:
            reply = Reply(example)
            for at in needing:
                able[row, at] = faults[at].can_judge(reply)
    return able


def fault_share(flags: Bools, able: Bools, clusters: Ints, rows: Ints) -> Interval:
    """The share of a system's replies that have a fault, of those that can be judged; NaN where none can."""
    rows = rows[able[rows]]
    if not rows.size:
        return Interval(np.nan, np.nan, np.nan)
    return mean_interval(flags[rows].astype(np.float64), clusters[rows], limits=(0.0, 1.0))


def percent(share: Interval) -> Interval:
    """The share in per cent."""
    return Interval(100 * share.estimate, 100 * share.low, 100 * share.high)


def percent_text(share: Interval) -> str:
    """'12 % [8, 17]'; with a decimal below 10 %."""
    shown = percent(share)
    digits = 0 if shown.estimate >= 10 or shown.estimate == 0 else 1
    told = f"{number_text(shown.estimate, digits)} %"
    if np.isnan(shown.low):
        return told
    return f"{told} [{number_text(shown.low, digits)}, {number_text(shown.high, digits)}]"


@dataclass(frozen=True, repr=False)
class FaultsFound(Result):
    """What is wrong with the replies of some systems: named faults with their evidence, and how frequent each is."""

    name: str
    """Of the source."""
    replies: Mapping[str, int]
    """System -> its replies."""
    cards: Mapping[str, FaultCard]
    """Fault that was looked for -> what is known of it."""
    counts: Mapping[str, Mapping[str, int]]
    """Fault, or `any fault` -> system -> replies that have it."""
    shares: Mapping[str, Mapping[str, Interval]]
    """The same -> the share of those that can be judged, with its 95 % interval."""
    found: tuple[FoundFault, ...]
    """Every fault of every reply, in the order of the replies."""
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Records that could not be read, each with the reason."""

    def without_texts(self) -> FaultsFound:
        """The same without texts of replies."""
        return replace(self, found=tuple(replace(one, example=None, text="") for one in self.found))

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(self.replies)

    @property
    def by_frequency(self) -> list[str]:
        """The faults that were found, the most frequent first."""
        totals = {name: sum(self.counts[name].values()) for name in self.cards}
        return sorted((name for name, count in totals.items() if count), key=lambda name: -totals[name])

    @property
    def not_judged(self) -> dict[str, str]:
        """Fault that could be looked for in no reply -> what the replies lack."""
        lacking = {name for name in self.cards if all(np.isnan(one.estimate) for one in self.shares[name].values())}
        return {name: _lacking(self.cards[name]) for name in self.cards if name in lacking}

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many replies of each system have a fault, and which ones are frequent; what could not be looked for."""
        told = [self._system(name) for name in self.systems[:_MOST_TOLD]]
        if len(self.systems) > _MOST_TOLD:
            told.append(f"The table also has {counted(len(self.systems) - _MOST_TOLD, 'other system')}.")
        lacking: dict[str, list[str]] = {}
        for name, needed in self.not_judged.items():
            lacking.setdefault(needed, []).append(name)
        told += [f"Not looked for: {names_text(names)}: no reply has {needed}." for needed, names in lacking.items()]
        return tuple(told)

    def _system(self, system: str) -> str:
        count, of = self.counts[ANY][system], self.replies[system]
        whose = f" of {system}" if system else ""
        replies = f"{counted(of, 'reply', 'replies')}{whose}"
        if not count:
            return f"None of {len(self.cards) - len(self.not_judged)} faults was found in {replies}."
        frequent = sorted(self.by_frequency, key=lambda name: -self.counts[name][system])
        parts = [f"{name} ({self.counts[name][system]:,})" for name in frequent if self.counts[name][system]]
        share = percent_text(self.shares[ANY][system])
        most = f"most often {names_text(parts[:_MOST_TOLD])}" if len(parts) > 1 else parts[0]
        return f"{count:,} of {replies} {'has' if count == 1 else 'have'} a fault ({share}): {most}."

    def document(self) -> Document:
        """The verdict; how frequent each fault is; examples with their evidence; what each fault means."""
        blocks: list[Block] = [
            VerdictText(self.sentences),
            Section("How frequent each fault is", [self._frequencies()], "Frequency"),
            *self._examples(),
            Section("What the faults are, and how sure they are", self._cards(), "Faults", folded=True, full=True),
        ]
        return Document(
            f"Faults of {self.name}",
            blocks,
            question="What is wrong with these replies?",
            counts=[(sum(self.replies.values()), "reply", "replies"), (len(self.systems), "system", "systems")],
        )

    def _frequencies(self) -> Table:
        names = [ANY, *self.by_frequency] if self.by_frequency else [ANY]
        rows: list[list[Cell]] = []
        for name in names:
            cells = [percent(self.shares[name][system]) for system in self.systems]
            rows.append([self._marked(name), self._sentence(name), *cells, sum(self.counts[name].values())])
        columns = [
            "fault",
            Column("the reply ...", only=PAGE),
            *(
                Column(SystemName(system, at) if system else "% of replies", digits=1)
                for at, system in enumerate(self.systems)
            ),
            "replies",
        ]
        absent = [name for name in self.cards if name not in names and name not in self.not_judged]
        note = "Per cent of the replies, with 95 % intervals; a reply may have several faults."
        if absent:
            note += f" Not found: {names_text(absent)}."
        if any(not self.cards[name].by_default for name in self.by_frequency):
            note += " ? a fault whose precision is not known, or below .8."
        return Table(columns, rows, note=note, main=True)

    def _marked(self, name: str) -> str:
        return name if name == ANY or self.cards[name].by_default else f"{name} ?"

    def _sentence(self, name: str) -> str:
        return "" if name == ANY else self.cards[name].sentence

    def _examples(self) -> Iterator[Block]:
        chosen = [one for name in self.by_frequency for one in self._shown(name)[:_EXAMPLES_PER_FAULT]]
        if not chosen:
            return
        told = [f"{one.fault}, {' '.join(filter(None, (one.system, one.id)))}: {self._evidence(one)}" for one in chosen]
        yield Say(
            ["For example (a report, --report, shows more, in their dialogues):", *told], lines=True, only=TERMINAL
        )
        yield Made(lambda: [Section("Examples", [*self._chats()], "Examples")], only=PAGE)

    def _shown(self, name: str) -> list[FoundFault]:
        """Those whose texts are kept, of each system in turn."""
        queues = [
            [one for one in self.found if (one.fault, one.system) == (name, system) and one.example]
            for system in self.systems
        ]
        longest = max(map(len, queues), default=0)
        return [queue[at] for at in range(longest) for queue in queues if at < len(queue)]

    def _evidence(self, one: FoundFault) -> str:
        text = " ".join(one.text.split())
        text = text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
        quoted = f'"{text}"' if text else ""
        return " - ".join(filter(None, (quoted, one.evidence.note)))

    def _chats(self) -> Iterator[Block | Html]:
        for name in self.by_frequency:
            shown = self._shown(name)
            if shown:
                count = counted(sum(self.counts[name].values()), "reply", "replies")
                yield element(
                    "h3", self._marked(name), " ", element("small", f"the reply {self.cards[name].sentence}: {count}")
                )
                yield element("div", *map(self._chat, shown[:_CARDS_PER_FAULT]), class_="cards")

    def _chat(self, one: FoundFault) -> Html:
        """A reply in its dialogue; what shows the fault is marked."""
        assert one.example is not None
        example, evidence = one.example, one.evidence
        own = set(Reply(example).own_turns)
        first = max(0, len(example.context) - _RECENT)
        turns = [
            element(
                "li",
                _bubble(text, (0, len(text)) if at == evidence.turn else (0, 0)),
                class_="own" if at in own else None,
            )
            for at, text in enumerate(example.context)
            if at >= first or at == evidence.turn
        ]
        reply = element("li", _bubble(example.response, (evidence.start, evidence.end)), class_="own reply")
        head = [own_text(one.system), " "] if one.system else []
        note = element("p", evidence.note, class_="note") if evidence.note else Html("")
        header = element("header", *head, element("span", own_text(one.id), class_="id"))
        return element("article", header, element("ol", *turns, reply, class_="thread"), note, class_="card")

    def _cards(self) -> list[Block]:
        cards = self.cards.values()
        rows = [[self._marked(one.name), *_told(one), one.recall or "-", one.precision or "-"] for one in cards]
        columns = ["fault", "how it is decided", "what it cannot see"]
        shares = [Column("recall", digits=2), Column("precision", digits=2)]
        paragraphs = [
            Say([f"{self._marked(one.name)}: {decides}", f"It cannot see: {misses}", _error_rates(one)], only=TERMINAL)
            for one in cards
            for decides, misses in [_told(one)]
        ]
        return [Table([*columns, *shares], rows, left=3, only=PAGE), *paragraphs, Say([_ABOUT_RATES])]

    def to_polars(self) -> polars.DataFrame:
        """One row per fault of a reply."""
        import polars as pl

        rows = [one.to_dict() for one in self.found]
        schema = {
            **dict.fromkeys(("id", "system", "fault", "text"), pl.String),
            **dict.fromkeys(("start", "end", "turn"), pl.Int64),
            "note": pl.String,
            "probability": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.answer,
            "replies": dict(self.replies),
            "faults": {
                name: {
                    **about.to_dict(),
                    "systems": {
                        system: {"count": self.counts[name][system], **plain_interval(self.shares[name][system])}
                        for system in self.systems
                    },
                }
                for name, about in self.cards.items()
            },
            "any": {
                system: {"count": self.counts[ANY][system], **plain_interval(self.shares[ANY][system])}
                for system in self.systems
            },
            "not_judged": self.not_judged,
            "found": [one.to_dict() for one in self.found],
            "skipped": list(self.skipped),
        }


def plain_interval(share: Interval) -> dict[str, float | None]:
    """A share and its bounds; what is unknown is None."""
    bounds = {"share": share.estimate, "low": share.low, "high": share.high}
    return {name: None if np.isnan(value) else value for name, value in bounds.items()}


_ABOUT_RATES = (
    "Recall: the share of faulty replies in which it is found. Precision: the share of findings that are right, where "
    "5 % of the replies have the fault. Both were measured on replies that the rules were not made on."
)


def _told(about: FaultCard) -> tuple[str, str]:
    """What a fault is with how it is decided, and what it cannot see."""
    return f"The reply {about.sentence}. {about.decides}", about.misses


def _error_rates(about: FaultCard) -> str:
    if about.recall is None or about.precision is None:
        return "Its error rates were not measured."
    return f"Recall {interval_text(about.recall, 2)}, precision {interval_text(about.precision, 2)}."


def _lacking(about: FaultCard) -> str:
    return "an earlier turn of the same speaker" if "own turns" in about.needs else "a context"


def _bubble(text: str, marked: tuple[int, int]) -> Html:
    if not text.strip():
        return element("p", element("mark", "(empty)") if marked[1] or not text else "(empty)", class_="bubble empty")
    start, end = marked
    parts = [text[:start], element("mark", text[start:end]) if end > start else "", text[end:]]
    return element("p", joined(parts), class_="bubble", dir="auto")


@verb
def faults(
    replies: Annotated[Any, REPLIES_OPTION],
    *,
    only: Annotated[
        str | Iterable[str],
        Option(
            "look for this fault only; may be repeated",
            one_or_more("the name of a fault, or a list of names"),
            name="--fault",
            metavar="NAME",
            many="repeat",
        ),
    ] = (),
    everything: Annotated[
        bool, Option("also look for faults whose precision is not known, or below .8; they are marked", name="--all")
    ] = False,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    quiet: Quiet = True,
) -> FaultsFound:
    """Name what is wrong with replies, show where, and count it for each system.

    `only` names the faults to look for; otherwise all those are whose precision was at least .8 where 5 % of the
    replies have the fault, and with `everything` the others too. `unit` is as in `score`.
    """
    looked_for = chosen_faults(only, everything=everything)
    with closing(Source(replies, FieldMap.given(fields), on_error, unit=unit)) as source:
        seen = survey(source, quiet=quiet, digest=False)
        examples, groups, codes = Replay(source), GroupFinder(), list[int]()
        numbers = {name: at for at, name in enumerate(seen.systems)}
        for batch in in_batches(examples, BATCH):
            groups.add(batch)
            codes += [numbers[example.system] for example in batch]
        with bar("looking for faults", total=seen.count, unit="replies", quiet=quiet) as moving:
            flags = flag_replies(examples, looked_for, progress=moving)
        grouping, systems = groups.found(), np.array(codes, np.int64)
        rows_of = {name: np.flatnonzero(systems == at) for name, at in numbers.items()}
        notes = (*seen.notes, *grouping.notes)
        return found_faults(
            source.name, flags, rows_of, grouping.clusters, notes, tuple(map(str, source.skipped.values()))
        )


def found_faults(
    name: str,
    flags: FaultFlags,
    rows_of: Mapping[str, Ints],
    clusters: Ints,
    notes: tuple[str, ...] = (),
    skipped: tuple[str, ...] = (),
) -> FaultsFound:
    """The result for replies that were looked at; `rows_of`: system -> the rows of its replies."""
    counts: dict[str, dict[str, int]] = {}
    shares: dict[str, dict[str, Interval]] = {}
    for fault in (ANY, *flags.names):
        found, able = flags.of(fault)
        counts[fault] = {system: int(found[rows].sum()) for system, rows in rows_of.items()}
        shares[fault] = {system: fault_share(found, able, clusters, rows) for system, rows in rows_of.items()}
    return FaultsFound(
        name,
        {system: len(rows) for system, rows in rows_of.items()},
        {fault: card(fault) for fault in flags.names},
        counts,
        shares,
        flags.faults,
        notes,
        skipped,
    )
