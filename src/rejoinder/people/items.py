"""Items for raters: one reply, two replies or a context alone, with garbled and repeated items among them.

Everything follows from the study and its seed, so that a server that starts again shows the same items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Literal

import numpy as np

from rejoinder.data.source import read
from rejoinder.errors import DataError, NeedsError
from rejoinder.people.study import Study
from rejoinder.types import Example

Role = Literal["real", "garbled", "repeated"]


@dataclass(frozen=True)
class Item:
    """One thing to rate."""

    id: str
    """A hash that does not reveal the system to a rater."""
    group: str
    """Equal for items with the same context: a rater gets one of them, and another only if that is a shared one."""
    context: tuple[str, ...]
    speakers: tuple[str, ...]
    replies: tuple[str, ...]
    """One to score, two to compare, or none where the rater writes one."""
    examples: tuple[tuple[str, str], ...]
    """Example id and system of each reply."""
    role: Role = "real"
    of: str = ""
    """The item that this one repeats or garbles."""
    shared: bool = False

    @property
    def stratum(self) -> str:
        """The system or systems: every rater gets about equally many of each."""
        return " / ".join(system for _, system in self.examples)


def items_of(study: Study) -> list[Item]:
    """Every item of a study, its checks included."""
    examples = list(read(study.folder / study.examples))
    if not examples:
        raise NeedsError(f"{study.examples} has no replies: expected at least one to rate")
    real = _unique(_real(study, examples), study.examples)
    if study.queue is None:  # else they are chosen among the items that it draws
        real = _chosen_shared(study, real)
    return [*real, *_checks(study, real)]


def _real(study: Study, examples: Sequence[Example]) -> Iterable[Item]:
    for key, members in _chosen_groups(study, replies_by_context(examples)).items():
        group = _hash(study, "group", key)
        if study.kind == "write":
            yield _item(study, group, members[0], [])
        elif study.kind == "scale":
            yield from (_item(study, group, one, [one]) for one in members)
        else:
            yield from (_item(study, group, one, [one, other]) for one, other in combinations(members, 2))


def replies_by_context(examples: Iterable[Example]) -> dict[str, list[Example]]:
    """The replies to each context."""
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(example.context_id or "\n".join(example.context), []).append(example)
    return groups


def _chosen_groups(study: Study, groups: dict[str, list[Example]]) -> dict[str, list[Example]]:
    """As many contexts as the study uses, chosen at random."""
    if not 0 < study.contexts < len(groups):
        return groups
    chosen = np.random.default_rng([study.seed, 3]).permutation(len(groups))[: study.contexts]
    keys = list(groups)
    return {keys[place]: groups[keys[place]] for place in sorted(chosen.tolist())}


def _item(study: Study, group: str, shown: Example, rated: Sequence[Example]) -> Item:
    named = tuple((one.id, one.system) for one in rated)
    # What is written in answer to a context belongs to that context, whichever example it came from.
    key = repr(named) if named else f"write {shown.id}"
    replies = tuple(one.response for one in rated)
    return Item(_hash(study, "item", key), group, shown.context, shown.speakers, replies, named)


def _unique(items: Iterable[Item], file: str) -> list[Item]:
    found: dict[str, Item] = {}
    for item in items:
        if item.id in found:
            raise DataError(f"has two replies with id and system {item.examples}: expected different ones", file=file)
        found[item.id] = item
    if not found:
        raise NeedsError(f"{file} has no two systems with replies to one context: expected pairs to compare")
    return list(found.values())


def _chosen_shared(study: Study, items: list[Item]) -> list[Item]:
    """The same items, some of them marked as shared: at most one per context, and systems in turn."""
    rng = np.random.default_rng([study.seed, 1])
    order = [items[place] for place in rng.permutation(len(items)).tolist()]
    shared = {item.id for item in in_turn(order, study.shared_items)}
    return [replace(item, shared=item.id in shared) for item in items]


def in_turn(items: Sequence[Item], most: int) -> list[Item]:
    """At most `most` items, in their order: one of each system in turn, and one per context."""
    by_stratum: dict[str, list[Item]] = {}
    for item in items:
        by_stratum.setdefault(item.stratum, []).append(item)
    queues = [iter(queue) for queue in by_stratum.values()]
    groups: set[str] = set()
    chosen: list[Item] = []
    while queues and len(chosen) < most:
        for queue in list(queues):
            found = next((one for one in queue if one.group not in groups), None)
            if found is None:
                queues.remove(queue)
            elif len(chosen) < most:
                groups.add(found.group)
                chosen.append(found)
    return chosen


def _checks(study: Study, items: Sequence[Item]) -> Iterable[Item]:
    """Garbled items; repeated ones are made for each rater, from the items that the rater saw.

    A garbled reply is one whose words are shuffled; in a study of pairs it is compared with the same reply intact.
    """
    if study.kind == "write":
        return
    rng = np.random.default_rng([study.seed, 2])
    long = [item for item in items if len(item.replies[0].split()) >= 4 and not item.shared]
    count = min(len(long), round(study.checks.garbled * len(items)) or int(study.checks.garbled > 0))
    for place in rng.permutation(len(long))[:count].tolist():
        item = long[place]
        words = item.replies[0].split()
        garbled = " ".join(words[number] for number in rng.permutation(len(words)))
        if garbled != " ".join(words):
            replies = (garbled,) if study.kind == "scale" else (item.replies[0], garbled)
            yield replace(
                item, id=_hash(study, "garbled", item.id), replies=replies, role="garbled", of=item.id, shared=False
            )


def repeated_item(study: Study, item: Item) -> Item:
    """The same item, to be shown to the same rater again."""
    return replace(item, id=_hash(study, "repeated", item.id), role="repeated", of=item.id, shared=False)


def swapped(rater: str, item: str) -> bool:
    """Whether a pair is shown the other way round to a rater: pseudo-random, and the same after a reload."""
    return bool(blake2b(f"{rater}:{item}".encode(), digest_size=1).digest()[0] % 2)


def other_way_round(choice: str) -> str:
    """A choice between A and B when the two have changed places."""
    return {"A": "B", "B": "A"}.get(choice, choice)


def _hash(study: Study, *parts: str) -> str:
    text = "\x1f".join([str(study.seed), study.title, *parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()
