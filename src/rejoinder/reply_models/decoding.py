"""How a neural reply model turns its probabilities into a reply, token by token."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Literal, cast, get_args

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.metrics.base import plain
from rejoinder.specs import parse_spec

Method = Literal["greedy", "beam", "ancestral", "top-k", "nucleus"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """Greedy decoding, beam search or sampling, and its settings; a method ignores the settings of others."""

    method: Method = "greedy"
    max_tokens: int = 40
    """Maximum number of tokens per reply."""
    beam: int = 4
    """Replies kept at each step (beam)."""
    length_penalty: float = 1.0
    """A reply of n tokens scores log p / n ** length_penalty: 0 is the log-probability itself, 1 its mean (beam)."""
    k: int = 40
    """Tokens are drawn from the k most likely (top-k)."""
    p: float = 0.9
    """Tokens are drawn from the smallest set with this total probability (nucleus)."""
    temperature: float = 1.0
    """Logits are divided by this before drawing (ancestral, top-k, nucleus)."""
    block_ngrams: int = 0
    """No n-gram of this length occurs twice in a reply; 0: no restriction."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise CallError(f"decoding: method must be one of {', '.join(METHODS)}, not {self.method!r}")
        for name, least in {"max_tokens": 1, "beam": 1, "k": 1, "block_ngrams": 0}.items():
            if getattr(self, name) < least:
                raise CallError(f"decoding: {name} must be at least {least}, not {getattr(self, name)}")
        if not 0 < self.p <= 1:
            raise CallError(f"decoding: p must be above 0 and at most 1, not {self.p}")
        if not 0 < self.temperature <= 100:
            raise CallError(f"decoding: temperature must be above 0 and at most 100, not {self.temperature}")
        if not 0 <= self.length_penalty <= 10:
            raise CallError(f"decoding: length_penalty must be from 0 to 10, not {self.length_penalty}")

    @classmethod
    def parse(cls, spec: str) -> Decoding:
        """From 'nucleus(p=0.9, max_tokens=30)', the form of the command line."""
        method, given = parse_spec(spec)
        types = {field.name: type(field.default) for field in fields(cls) if field.name != "method"}
        for key, value in given.items():
            if key not in types:
                raise UnknownNameError(f"parameter of decoding {method}:", key, types)
            if type(value) is not types[key] and not (types[key] is float and type(value) is int):
                expected = "a number" if types[key] is float else "a whole number"
                raise CallError(f"decoding: {key} must be {expected}, not {value!r}")
        return cls(method=cast("Method", method), **given)

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn at random, so that the reply depends on the seed."""
        return self.method in {"ancestral", "top-k", "nucleus"}

    @property
    def signature(self) -> str:
        """The method and the settings that differ from the defaults: 'beam|beam:8|block_ngrams:3'."""
        defaults = {field.name: field.default for field in fields(self)}
        chosen = {key: value for key, value in asdict(self).items() if key != "method" and value != defaults[key]}
        return "|".join([self.method, *(f"{key}:{plain(value)}" for key, value in chosen.items())])
