"""One page of docs/results, or one table, made from the data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.folders.outputs import Output, reserved

if TYPE_CHECKING:
    from papers.documents import Document

PROGRAM = "python -m papers"


def make_page(
    name: str,
    *,
    data: Path | None,
    output: Path | None,
    models: Path,
    cache: Path | None = None,
    sections: Sequence[str] = (),
    given: Sequence[str] = (),
    quiet: bool = False,
) -> Document:
    """The page of this name, or one of its tables; it is written if an output is named."""
    from papers.cache import Cache
    from papers.inputs import Inputs
    from papers.pages import PAGES, find_page
    from papers.papers import add_conclusions
    from papers.settings import settings_of, shown_settings

    page, own_sections = find_page(name)
    if data is None and page != "papers":
        raise CallError("no data folder was given: expected --data FOLDER with judged/ and dialogues/")
    module = PAGES[page].load()
    every = tuple(module.SECTIONS)
    wanted = tuple(sections or own_sections or every)
    for section in wanted:
        if section not in every:
            raise UnknownNameError(f"section of {page}:", section, every)
    settings = settings_of(module.Settings, [*PAGES[page].preset, *given])
    inputs = Inputs(data or Path(), models, Cache(cache or models / "reproduction"), quiet)
    given_data = [] if page == "papers" else ["--data DATA"]
    shown = ["--sections", *wanted] if sections else []
    shown += [part for setting in shown_settings(settings) for part in ("--set", setting)]
    made = page if wanted == every else name
    target = [f"-o {output.name}"] if output else []
    with reserved(Output(output, (".md",))) if output else nullcontext():
        document = module.make(inputs, settings, wanted)
        add_conclusions(document, name)
        document.text(f"Made by `{' '.join([PROGRAM, made, *given_data, *shown, *target])}`.")
        if output:
            document.write(output)
    return document
