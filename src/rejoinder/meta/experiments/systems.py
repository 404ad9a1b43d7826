"""Systems merged by the first words of their names: a model with several decodings is then one system."""

from __future__ import annotations

from dataclasses import replace

from rejoinder.errors import CallError, shortened
from rejoinder.meta.judged import JudgedSet
from rejoinder.stats.formatting import counted


def merged_systems(judged: JudgedSet, words: int) -> JudgedSet:
    """The set with each system named by the first `words` words of its name, which spaces separate.

    With 2, replies of `mybot v1 greedy` and of `mybot v1 sample` are replies of `mybot v1`. A name with fewer words
    stays as it is.
    """
    if not isinstance(words, int) or isinstance(words, bool) or words < 1:
        raise CallError(f"system_words must be a whole number of at least 1, not {shortened(words)}")
    examples = (replace(example, system=" ".join(example.system.split()[:words])) for example in judged.examples)
    return replace(judged, examples=tuple(examples))


def merging_text(before: JudgedSet, after: JudgedSet, words: int) -> str:
    """A sentence that says how systems were merged, and how many there are now."""
    same = "word" if words == 1 else f"{words} words"
    names, systems = (len(set(judged.systems.tolist())) for judged in (before, after))
    counts = f"{counted(names, 'different name')}, {counted(systems, 'system')}"
    return f"Systems whose names start with the same {same} count as one system: {counts}."
