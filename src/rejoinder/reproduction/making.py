"""One page of docs/results, or one table, made from the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.output.targets import Output, reserved

PROGRAM = "rejoinder reproduce"


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
) -> None:
    """Write the page of this name."""
    from rejoinder.reproduction.cache import Cache
    from rejoinder.reproduction.inputs import Inputs
    from rejoinder.reproduction.pages import PAGES, find_page
    from rejoinder.reproduction.papers import add_conclusions
    from rejoinder.reproduction.published import PAPERS
    from rejoinder.reproduction.settings import settings_of, shown_settings

    page, own_sections = find_page(name)
    if output is None:
        raise CallError("no output was named: expected -o PAGE.md")
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
    with reserved(Output(output, (".md",))):
        document = module.make(inputs, settings, wanted)
        own = [paper for paper in PAPERS if name in paper.items_by_key()]
        add_conclusions(document, page, own or PAPERS)
        document.write(output, " ".join([PROGRAM, made, *given_data, *shown, f"-o {output.name}"]))
