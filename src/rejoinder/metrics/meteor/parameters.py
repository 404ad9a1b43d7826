"""METEOR's parameters, and those of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, fields

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
"""The modules: the ways in which two words or phrases can match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteorParameters:
    """METEOR 1.5's parameters; the defaults are those of its English ranking task (Denkowski and Lavie 2014)."""

    alpha: float = 0.85  # the weight of recall in the mean of precision and recall
    beta: float = 0.2  # the exponent of fragmentation
    gamma: float = 0.6  # the largest penalty for fragmentation
    delta: float = 0.75  # the weight of a content word; that of a function word is 1 - delta
    exact: float = 1.0  # the weight of a match, by module
    stem: float = 0.6
    synonym: float = 0.8
    paraphrase: float = 0.6
    use_stems: bool = True
    use_synonyms: bool = True
    beam: int = 40  # how many partial alignments the search keeps

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("beam", "beta") and not 0 <= value <= 1:
                raise ValueError(f"{field.name} must be between 0 and 1, not {value}")
        if self.beta < 0:
            raise ValueError(f"beta must not be negative, but is {self.beta}")
        if self.beam < 1:
            raise ValueError(f"beam must be at least 1, not {self.beam}")

    @property
    def weights(self) -> tuple[float, float, float, float]:
        """The weight of a match, by module."""
        return self.exact, self.stem, self.synonym, self.paraphrase


TASKS = {
    "rank": MeteorParameters(),
    "adq": MeteorParameters(alpha=0.75, beta=1.4, gamma=0.45, delta=0.7, stem=1.0, synonym=0.6, paraphrase=0.8),
    "hter": MeteorParameters(alpha=0.4, beta=1.5, gamma=0.35, delta=0.55, stem=0.2, synonym=0.6, paraphrase=0.8),
    "li": MeteorParameters(alpha=0.75, beta=1.4, gamma=0.7, delta=0.5, stem=0.5, synonym=0.5, paraphrase=0.5),
}
"""The parameters of METEOR 1.5's tasks for English: `-t rank`, `adq`, `hter` and the language-independent `li`."""
