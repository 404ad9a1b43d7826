"""The verb: a study in which people rate replies, from its template to its datasheet."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rejoinder.data.source import read
from rejoinder.errors import CallError
from rejoinder.folders.outputs import Output, output_path, reserved, write_text
from rejoinder.folders.sources import require_extra
from rejoinder.options import Option, number, path, text, texts, verb, whole
from rejoinder.people.datasheet import datasheet
from rejoinder.people.export import (
    add_results,
    batch,
    batch_results,
    exported,
    label_studio_configuration,
    label_studio_results,
    label_studio_tasks,
    potato_configuration,
    potato_records,
    potato_results,
)
from rejoinder.people.items import replies_by_context
from rejoinder.people.plan import plan
from rejoinder.people.progress import state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.store import Store, latest, open_store
from rejoinder.people.study import Study, read_study, study_text

_PLANNED = "as many contexts and raters as `rejoinder plan` asks for"
_RATERS = 3  # per item, where nothing is planned


@verb
def new_study(
    replies: Annotated[str | Path, Option("the replies to judge, as `rejoinder score` reads them", path)],
    output: Annotated[
        str | Path, Option("the study", path, short="-o", name="--output", metavar="FILE")
    ] = "study.toml",
    *,
    difference: Annotated[
        float | None,
        Option(
            "the smallest difference between two systems that would matter",
            number(above=0),
            metavar="D",
            group=_PLANNED,
        ),
    ] = None,
    pilot: Annotated[
        Any, Option("judged replies, from which the spread of ratings is taken", metavar="FILE", group=_PLANNED)
    ] = None,
    sd: Annotated[
        float | None,
        Option(
            "without a pilot: standard deviation of the true differences",
            number(least=0),
            metavar="SD",
            group=_PLANNED,
        ),
    ] = None,
    icc: Annotated[
        float | None,
        Option(
            "without a pilot: intraclass correlation of single ratings",
            number(above=0, most=1),
            metavar="ICC",
            group=_PLANNED,
        ),
    ] = None,
    say: Annotated[Callable[[str], object], Option("called with what a plan says", shown=False)] = lambda _: None,
) -> Path:
    """Write a template of a study of these replies, to be edited by hand; gives its path.

    With a `difference` that would matter, and a `pilot` or `sd` and `icc`, the study has as many contexts and raters as
    `plan` asks for.
    """
    target = output_path(output)
    reads = [str(replies), *([pilot] if isinstance(pilot, str | Path) else [])]
    with reserved(Output(target, (".toml",)), reads=reads):
        if os.path.lexists(target):
            raise CallError(f"{target} exists: expected a new name, so that no study is lost")
        examples = list(read(replies))
        contexts, raters = 0, _RATERS
        if difference is not None:
            found = plan(
                *([] if pilot is None else [pilot]),
                difference=difference,
                sd=sd,
                icc=icc,
                systems=max(2, len({example.system for example in examples})),
                contexts=max(2, len(replies_by_context(examples))),
            )
            say(found.verdict)
            raters = found.raters[-1] if found.recommended is None else found.recommended
            contexts = 0 if found.recommended is None else int(found.needed(raters))
        elif not (pilot is None and sd is None and icc is None):
            raise CallError("a pilot, sd and icc need a difference, the one that would matter: expected a difference")
        place = Path(os.path.relpath(replies, target.parent))
        write_text(target, study_text(place, len(examples), contexts=contexts, raters_per_item=raters))
    return target


@verb
def open_study(
    study: Annotated[str | Path, Option("the study's TOML file", path)],
    *,
    store: Annotated[
        str | Path | None,
        Option(
            "where answers are kept: a SQLite file or postgresql://... (default: next to the study, with the suffix "
            ".db)",
            path,
            metavar="FILE_OR_URL",
        ),
    ] = None,
) -> OpenStudy:
    """A study, with the place where its answers are kept."""
    where: Any = Path(study).with_suffix(".db") if store is None else store
    return OpenStudy(Path(study), read_study(Path(study)), where)


@dataclass(frozen=True)
class StudyExport:
    """What was written."""

    files: tuple[Path, ...]
    records: int
    """Judged replies; 0 where the study was written for another tool."""


@dataclass(frozen=True)
class OpenStudy:
    """A study in which people rate replies: links for raters, the server, and what comes out of it."""

    path: Path
    study: Study
    store: str | Path
    """A SQLite file, or the URL of a PostgreSQL database."""

    def _opened(self) -> Store:
        store: Any = self.store
        return open_store(store)

    @property
    def _reads(self) -> list[str | Path]:
        return [self.path, self.study.folder / self.study.examples, self.store]

    @verb
    def links(
        self,
        *,
        count: Annotated[int, Option("how many links to make", whole(1), metavar="N")] = 1,
        address: Annotated[
            str, Option("where the server can be reached", text, metavar="ADDRESS")
        ] = "http://localhost:8000",
    ) -> list[str]:
        """Make personal links for raters."""
        from rejoinder.people.server import new_token, token_hash

        made = []
        with closing(self._opened()) as store:
            for _ in range(count):
                token = new_token()
                with store.transaction(on_disk=True):
                    store.add_rater(new_token()[:16], token_hash(token), "")
                made.append(f"{address.rstrip('/')}/r/{token}")
        return made

    @verb
    def serve(
        self,
        *,
        host: Annotated[str, Option("the address to listen on", text, metavar="HOST")] = "127.0.0.1",
        port: Annotated[int, Option("the port to listen on", whole(1, 65535), metavar="PORT")] = 8000,
        open: Annotated[bool, Option("let anyone join at /join, without a personal link")] = False,
        https: Annotated[bool, Option("the server is behind TLS: send cookies over HTTPS only")] = False,
        say: Annotated[Callable[[str], object], Option("called with the addresses", shown=False)] = print,
    ) -> None:
        """Run the web server of the study until it is stopped."""
        require_extra("annotate", "collecting ratings")
        import uvicorn

        from rejoinder.people.server import Secrets, rating_app

        with closing(self._opened()) as store:
            known = Secrets.beside(self.path)
            app = rating_app(self.study, store, known, open_to_all=open, https=https)
            say(f"organisers: http://{host}:{port}/admin/{known.admin}")
            say("raters join by links that `rejoinder annotate links` makes, or by a platform's link to /join")
            # Access logs would hold the secrets of personal links.
            uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)

    @verb
    def export(
        self,
        output: Annotated[str | Path, Option("the file to write", path, short="-o", name="--output", metavar="FILE")],
        *,
        to: Annotated[
            str,
            Option(
                "judged replies (.jsonl); tasks and answers for Label Studio (.json, with a .xml configuration); items "
                "for Potato (.jsonl, with a .yaml configuration); a batch for Mechanical Turk or a form (.csv)",
                choices=("judged", "label-studio", "potato", "batch"),
            ),
        ] = "judged",
        without: Annotated[
            Iterable[str],
            Option("leave out a rater; may be repeated", texts("a list of raters"), metavar="RATER", many="repeat"),
        ] = (),
    ) -> StudyExport:
        """Write the ratings as a file of judged replies, or the study for another tool."""
        target, study, left_out = output_path(output), self.study, list(without)
        suffix, beside = {
            "judged": (".jsonl", ()),
            "label-studio": (".json", (target.with_suffix(".xml"),)),
            "potato": (".jsonl", (target.with_suffix(".yaml"),)),
            "batch": (".csv", ()),
        }[to]
        with closing(self._opened()) as store, reserved(Output(target, (suffix,), beside), reads=self._reads):
            items = Assigner(study, store).items
            if to == "judged":
                lines = list(exported(study, store, items, without=left_out))
                write_text(target, "".join(lines))
                return StudyExport((target,), len(lines))
            answers = [one for one in latest(store.answers()).values() if one.rater not in set(left_out)]
            if to == "label-studio":
                tasks = json.dumps(label_studio_tasks(study, items, answers), ensure_ascii=False, indent=1)
                write_text(target, f"{tasks}\n")
                write_text(beside[0], label_studio_configuration(study))
            elif to == "potato":
                records = (json.dumps(record, ensure_ascii=False) for record in potato_records(study, items))
                write_text(target, "".join(f"{record}\n" for record in records))
                write_text(beside[0], potato_configuration(study, target.name))
            else:
                write_text(target, batch(study, items))
        return StudyExport((target, *beside), 0)

    @verb
    def add(
        self,
        results: Annotated[
            str | Path, Option("the export of Label Studio, the output folder of Potato, or a results table", path)
        ],
        tool: Annotated[
            str,
            Option("the tool that wrote the results", name="--from", choices=("label-studio", "potato", "batch")),
        ],
    ) -> tuple[int, int]:
        """Add answers that were given in another tool; gives the numbers of new answers and of all."""
        place = Path(results)
        if not place.exists():
            raise CallError(f"{place} does not exist: expected results of {tool}")
        read_results = {"label-studio": label_studio_results, "potato": potato_results, "batch": batch_results}[tool]
        with closing(self._opened()) as store:
            answers = list(read_results(self.study, place))
            count = add_results(self.study, store, Assigner(self.study, store).items, answers, tool, str(place))
        return count, len(answers)

    @verb
    def datasheet(
        self,
        output: Annotated[str | Path, Option("the datasheet", path, short="-o", name="--output", metavar="FILE.md")],
    ) -> Path:
        """Write a datasheet of the study, with the numbers of HEDS 3.0; gives its path."""
        target = output_path(output)
        with closing(self._opened()) as store, reserved(Output(target, (".md",)), reads=self._reads):
            assigner = Assigner(self.study, store)
            write_text(target, datasheet(self.study, assigner.items, state_of(self.study, store, assigner)))
        return target
