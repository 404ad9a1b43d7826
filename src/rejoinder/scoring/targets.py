"""Where scores are written: into one file, or into a folder of parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.data.formats.parquet import polars_failures
from rejoinder.output.targets import Output
from rejoinder.output.unfinished import START_OVER, UnfinishedRows, check_finished, check_same_run
from rejoinder.scoring.part_file import lacks_only_metadata
from rejoinder.scoring.parts.folder import PartsFolder, parts_output
from rejoinder.scoring.parts.reading import check_parts, read_parts
from rejoinder.scoring.score_file import metadata_of, read_scores
from rejoinder.scoring.score_output import score_output
from rejoinder.scoring.table import ScoreTable


@dataclass(frozen=True)
class FileTarget:
    """A score file: .jsonl, .csv or .parquet."""

    path: Path

    @property
    def output(self) -> Output:
        """What the run writes."""
        return score_output(self.path)

    @property
    def unfinished(self) -> Path | None:
        """What an interrupted run left; None if there is nothing."""
        rows = UnfinishedRows(self.path)
        return rows.rows if rows.exist() else None

    @property
    def is_finished(self) -> bool:
        """Whether there are scores, and nothing to resume."""
        return self.path.exists() and self.unfinished is None and not lacks_only_metadata(self.path)

    def check_finished(self, run: Mapping[str, Any]) -> None:
        """Raise an error unless the finished scores are those of this run, whole and unchanged."""
        with polars_failures(str(self.path), f"is damaged: {START_OVER}"):
            meta, lacking = metadata_of(self.path)
        check_finished(self.path, meta, run, lacking if not meta else "")

    def read(self) -> ScoreTable:
        """The finished scores."""
        return read_scores(self.path)


@dataclass(frozen=True)
class FolderTarget:
    """A folder of parts."""

    path: Path

    @property
    def output(self) -> Output:
        """What the run writes."""
        return parts_output(self.path)

    @property
    def unfinished(self) -> Path | None:
        """What an interrupted run left; None if there is nothing."""
        folder = PartsFolder(self.path)
        return self.path if folder.exists and (not folder.manifest.is_finished or folder.manifest.failed) else None

    @property
    def is_finished(self) -> bool:
        """Whether there are scores, and nothing to resume."""
        return PartsFolder(self.path).exists and self.unfinished is None

    def check_finished(self, run: Mapping[str, Any]) -> None:
        """Raise an error unless the finished scores are those of this run, and no part is missing or damaged."""
        folder = PartsFolder(self.path)
        check_same_run(folder.manifest.run, run, self.path)
        check_parts(folder)

    def read(self) -> ScoreTable:
        """The finished scores."""
        return read_parts(self.path)


Target = FileTarget | FolderTarget
