"""Where scores are written: into one file, or into a folder of parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rejoinder.output.targets import Output
from rejoinder.output.unfinished import UnfinishedRows
from rejoinder.scoring.parts.folder import PartsFolder, parts_output
from rejoinder.scoring.score_output import score_output


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
        return self.path.exists() and self.unfinished is None


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


Target = FileTarget | FolderTarget
