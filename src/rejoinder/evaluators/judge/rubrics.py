"""Rubrics: a question to the judge, and the meaning of each score from 1 to 5.

A rubric is a TOML file, so that it can be copied and changed:

    question = "How relevant is the reply to what was said before?"
    [scale]
    1 = "has nothing to do with it"
    ...
    5 = "answers it fully"

`needs = ["references"]` makes references part of what is judged; `references` says what they are.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, DataError, UnknownNameError

DIGITS = ("1", "2", "3", "4", "5")
_SHIPPED = Path(__file__).parents[2] / "resources" / "rubrics"
_REFERENCES = "Replies that people gave or would accept"


@dataclass(frozen=True)
class Rubric:
    """One thing to judge a reply by."""

    name: str
    question: str
    scale: tuple[str, ...]
    """What each score means, from 1 to 5."""
    needs: tuple[str, ...] = ()
    """`references`, where the rubric cannot be applied without them."""
    references: str = _REFERENCES
    """What the references are: in the rubric `factual` they are the facts that a reply must agree with."""

    @property
    def digest(self) -> str:
        """A hash of everything that a judge reads of it."""
        parts = [self.question, *self.scale, *self.needs, self.references]
        return blake2b("\n".join(parts).encode(), digest_size=4).hexdigest()


def rubric_names() -> list[str]:
    """The rubrics that come with the package."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def load_rubric(name_or_file: str) -> Rubric:
    """A rubric of the package by name, or one of the user's by the path of its TOML file."""
    if name_or_file.endswith(".toml"):
        path = Path(name_or_file)
    elif name_or_file in rubric_names():
        path = _SHIPPED / f"{name_or_file}.toml"
    else:
        raise UnknownNameError("rubric", name_or_file, rubric_names())
    try:
        return _rubric(path.stem, tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise CallError(f"{path}: {error.strerror}: expected a rubric, a TOML file") from error
    except (ValueError, RecursionError) as error:  # a TOML error is a ValueError, and so is a wrong encoding
        raise DataError(f"is not valid TOML ({error})", file=str(path)) from error


def _rubric(name: str, found: dict[str, Any], file: str) -> Rubric:
    known = {"question", "scale", "needs", "references"}
    for key in found:
        if key not in known:
            raise UnknownNameError(f"key of the rubric {file}:", key, known)
    scale = found.get("scale")
    if not isinstance(scale, dict) or set(scale) != set(DIGITS) or {type(text) for text in scale.values()} != {str}:
        raise DataError("expected a table [scale] with a text for each of 1, 2, 3, 4 and 5", file=file, field="scale")
    for key in ("question", "references"):
        if not isinstance(found.get(key, ""), str) or (key == "question" and not found.get(key, "").strip()):
            raise DataError("expected a text", file=file, field=key)
    needs = found.get("needs", [])
    if not isinstance(needs, list) or any(need != "references" for need in needs):
        raise DataError('expected ["references"], or nothing', file=file, field="needs")
    return Rubric(
        name,
        found["question"].strip(),
        tuple(scale[digit].strip() for digit in DIGITS),
        tuple(needs),
        found.get("references", _REFERENCES).strip(),
    )
