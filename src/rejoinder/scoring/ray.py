"""A run on Ray: parts of the input are scored by actors of a cluster into a folder."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rejoinder.data.replay import Replay
from rejoinder.data.source import Source, Survey, survey
from rejoinder.data.spans import UNIT, Span, SpanFinder, SpanReader
from rejoinder.errors import CallError, RejoinderError, WorkerError
from rejoinder.folders.foreign import array_archive
from rejoinder.folders.sources import require_extra
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import BATCH
from rejoinder.scoring.parts import Manifest, PartIds, PartRows, PartsFolder, PartsJob, part_name
from rejoinder.scoring.processes import share_arrays
from rejoinder.scoring.run import ScoringRun, batch_size, check_shareable
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.tokens import writable
from rejoinder.threads import thread_limits, usable_cores
from rejoinder.types import Example

if TYPE_CHECKING:
    import ray

    from rejoinder.scoring.score import MetricChoice

# A run on Ray: parts of the input are scored by actors of a cluster, or of a Ray on this machine, into a folder.
#
# The driver surveys the input, as every run does, and cuts it into parts of a fixed number of replies. Ray Data gives
# the numbers of parts to a pool of actors, each of which has loaded the metrics once. An actor reads its part from
# the input and writes it into the folder; only the number of the part travels. Input and folder must be reachable, by
# the same paths, from every machine. If an actor or its machine dies, Ray gives the part to another one.


FAST_PART = 4 * BATCH
"""Replies per part for fast metrics: some seconds of work."""
MANY = 1_000_000
"""Replies from which parts of evaluators are as large as the largest batches, so that files do not become too many."""


def part_size(metrics: Mapping[str, Metric], seen: Survey) -> int:
    """Replies per part: a multiple of the size of batches, so that batches are those of a run on one machine."""
    if not any(metric.is_slow for metric in metrics.values()):
        return FAST_PART
    return BATCH if seen.count > MANY else max(UNIT, batch_size(metrics, seen))


@dataclass(frozen=True)
class RayRun(ScoringRun):
    """A run on Ray into a folder of parts."""

    spans: tuple[Span, ...] = ()
    """The parts of the input."""
    skip_failed: bool = False
    """Whether a part that cannot be scored is left out, instead of ending the run."""
    failed: dict[int, str] = field(default_factory=dict)
    """Parts that could not be scored, with the reason; filled by the run."""

    @classmethod
    def of(cls, source: Source, wanted: MetricChoice, seen: Survey | None = None, **settings: Any) -> Self:
        """The run over a source of files, with the parts that it is cut into."""
        require_extra("scale", "--engine ray")
        spans = SpanFinder(source)
        digest = settings.pop("digest", True)
        seen = survey(source, quiet=settings.get("quiet", False), digest=digest, visitor=spans)
        run = super().of(source, wanted, seen, **settings)
        return replace(run, examples=source, spans=spans.found(part_size(run.metrics, seen)))

    def score(self, target: Path | None = None, *, resume: bool = False) -> ScoreTable:
        """The table of scores; its rows are written into the folder."""
        if target is None:
            raise CallError("a run on Ray needs an output: the folder that the scores are written into")
        scorer = Scorer(self.metrics, self.seen.systems, self.intervals)
        check_shareable(scorer)
        folder = PartsFolder(target.resolve())
        planned = Manifest.planned(self.identity(), self.seen.systems, scorer.columns, self.by, self.spans)
        folder.check()
        done = folder.resume(planned) if resume and folder.exists else None
        if done and folder.manifest.failed and scorer.must_observe:
            done = None  # what was observed lacks the parts that were left out
        if done is None or len(done) < len(self.spans):
            with RayCluster.joined(self.jobs) as cluster:
                if done is None:
                    folder.start(planned)
                missing = [number for number in range(len(self.spans)) if number not in (done or ())]
                self._score_missing(folder, scorer, missing, cluster)
        finished = replace(planned, failed=dict(sorted(self.failed.items())))
        table = self._table(folder, finished, scorer)
        folder.finish(replace(finished, metadata=self.metadata(table)))
        return table

    @property
    def replies(self) -> Replay | None:
        """The replies of the parts that were scored."""
        return _PartReplies(self._source, self.spans, self.failed)

    @property
    def _source(self) -> Source:
        if not isinstance(self.examples, Source):
            raise CallError("a run on Ray reads files: expected a source of files")
        return self.examples

    def _score_missing(self, folder: PartsFolder, scorer: Scorer, missing: Sequence[int], cluster: RayCluster) -> None:
        job = self._job(folder)
        if scorer.must_observe:
            self._observe(job, scorer, cluster)
            job = replace(job, is_observed=True)
        for number in self._done(job, "score", missing, cluster, "scoring"):
            folder.record(number)
        if len(self.failed) == len(self.spans):
            raise WorkerError(f"no part could be scored: {next(iter(self.failed.values()))}")

    def _job(self, folder: PartsFolder) -> PartsJob:
        return PartsJob(
            folder,
            SpanReader.of(self._source),
            self.spans,
            self.metrics,
            self.seen.systems,
            batch_size(self.metrics, self.seen),
            self.intervals,
            self.by,
        )

    def _observe(self, job: PartsJob, scorer: Scorer, cluster: RayCluster) -> None:
        """Let the metrics that must know the whole corpus read it, and write what they need to score."""
        folder = job.folder
        if folder.observed.is_dir():  # by the run that is resumed
            return
        everything = range(len(self.spans))
        done = set(self._done(job, "observe", everything, cluster, "reading the corpus"))
        for number in sorted(done):
            scorer.merge_observed(_read_state(folder.observed_part(number)))
        fresh = folder.unfinished / "observed.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        share_arrays(fresh, scorer.observed())
        fresh.rename(folder.observed)
        for number in everything:
            folder.observed_part(number).unlink(missing_ok=True)

    def _done(self, job: PartsJob, task: str, numbers: Sequence[int], cluster: RayCluster, doing: str) -> Iterator[int]:
        """The number of each part, when it is done."""
        wanted = [number for number in numbers if number not in self.failed]
        with self.bar(doing) as moving:
            moving.update(self.seen.count - sum(self.spans[number].count for number in wanted))
            for number, problem in cluster.parts_done(job, task, wanted):
                if problem:
                    self._fail(number, problem)
                else:
                    yield number
                moving.update(self.spans[number].count)

    def _fail(self, number: int, problem: str) -> None:
        span = self.spans[number]
        told = f"{part_name(number)} (replies {span.first + 1:,} to {span.first + span.count:,}): {problem}"
        if not self.skip_failed:
            raise WorkerError(f"{told}; --resume continues with the other parts, --on-error skip leaves this one out")
        self.failed[number] = told

    def _table(self, folder: PartsFolder, manifest: Manifest, scorer: Scorer) -> ScoreTable:
        opened = [(folder, manifest)]
        for number in manifest.present:
            scorer.merge(_read_state(folder.state(number)))
        codes = [{writable(name): code for code, name in enumerate(self.seen.systems)}]
        rows = PartRows.read(opened, scorer.columns, codes, self.by)
        return scorer.table(
            rows.scores,
            rows.systems,
            ids=PartIds(opened),
            notes=(*self.notes, *(f"left out {told}" for told in self.failed.values())),
            grouping=rows.grouping(),
            slices=rows.found_slices(),
            seed=self.seed,
            resamples=self.resamples,
            replies=self.replies,
        )


class _PartReplies(Replay):
    """The replies of parts of files, of which single ones are read without what is before their part."""

    def __init__(self, source: Source, spans: Sequence[Span], failed: Mapping[int, str]) -> None:
        super().__init__(source, copies=False)
        self._source, self._spans, self._failed = source, spans, failed

    def take(self, rows: Collection[int]) -> dict[int, Example]:
        """The examples of some rows of the table, read from the input again."""
        present = [span for number, span in enumerate(self._spans) if number not in self._failed]
        return SpanReader.of(self._source).take(present, rows)


def _read_state(path: Path) -> State:
    with path.open("rb") as file, array_archive(file) as arrays:
        return {name: arrays[name] for name in arrays.files}


# The Ray cluster of RAY_ADDRESS, or a Ray on this machine that is started for the run: quietly, on loopback only.


ADDRESS = "RAY_ADDRESS"
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # it warns of what Ray Data does with every pool of actors
}
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray uses the loopback address where it cannot be part of a cluster; else it would listen on all addresses."""
_OWN_PRIORITY = {"RAY_worker_niceness": "0"}
"""The workers of a Ray that a run has started have its priority. By default theirs is so low (`nice` 15) that they
hardly run beside other programs."""
_NAMED = re.compile(r"[\w.]+(?:Error|Exception): ")
SHARE_OF_CPU = 0.9
"""The CPUs that Ray reserves for an actor that computes on one: whatever else Ray Data starts must find a place."""
_PATIENCE = 10.0
"""Seconds within which a cluster must accept a connection."""
OBJECT_STORE = 256 << 20
"""Bytes of shared memory of a Ray on this machine: only the metrics and the numbers of parts are kept there."""


@dataclass(frozen=True)
class RayCluster:
    """A cluster that this process has joined."""

    workers: int

    @classmethod
    @contextmanager
    def joined(cls, workers: int | None) -> Iterator[RayCluster]:
        """The cluster, during the block; `workers` is the number of actors, by default one per CPU."""
        require_extra("scale", "--engine ray")
        address = os.environ.get(ADDRESS)
        settings = _QUIET | (_ON_LOOPBACK if _is_on_loopback(address) else {}) | ({} if address else _OWN_PRIORITY)
        for name, value in settings.items():
            os.environ.setdefault(name, value)
        import ray

        if ray.is_initialized():  # by the caller, who also ends it
            yield cls(workers or _cpus())
            return
        folder = None
        try:
            with _native_messages_hidden():
                if address:
                    _connect(address)
                else:
                    folder = tempfile.mkdtemp(prefix="rejoinder-ray-")
                    _start(folder, workers)
            yield cls(workers or _cpus())
        finally:
            ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def parts_done(self, job: PartsJob, task: str, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Let the actors do a task for some parts; each part, when it is done, with what went wrong, or ""."""
        import ray

        if not numbers:
            return
        size = max(1, min(self.workers, len(numbers)))
        share = SHARE_OF_CPU * min(1.0, _cpus() / size)
        _quiet_data()
        parts = ray.data.from_items([{"part": number} for number in numbers], override_num_blocks=len(numbers))
        done = parts.map_batches(
            _Actor,
            batch_size=1,
            # One part each: an actor that is ready before the others would otherwise take parts that they could do.
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            fn_constructor_args=(ray.put(job), task, sys.path),
            num_cpus=share,
            runtime_env={"env_vars": thread_limits(usable_cores())},
        )
        try:
            for row in done.iter_rows():
                yield int(row["part"]), str(row["problem"])
        except ray.exceptions.RayError as error:
            raise WorkerError(f"Ray gave up ({_reason(error)}); --resume continues") from None


class _Actor:
    """Does parts of a job, which is loaded once. Ray starts it again if it dies, and gives it the part again."""

    def __init__(self, job: ray.ObjectRef[PartsJob], task: str, path: list[str]) -> None:
        import ray

        # A metric of the user's may be in a folder that only the driver was told of.
        sys.path += [entry for entry in path if entry not in sys.path and os.path.isdir(entry)]
        self._job = ray.get(job)
        self._task = task

    def __call__(self, batch: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        problems = [self._problem(int(number)) for number in batch["part"]]
        return {"part": batch["part"], "problem": np.array(problems, object)}

    def _problem(self, number: int) -> str:
        """Do one part; what went wrong, on one line."""
        try:
            self._job.check_attempts(number)
            getattr(self._job, self._task)(number)
        except RejoinderError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""


def _is_on_loopback(address: str | None) -> bool:
    """Whether Ray has to use the loopback address: for a Ray of our own, or a cluster that listens nowhere else.

    Where Ray could be part of a cluster, it replaces 127.0.0.1 by another address of the machine.
    """
    host, port = _host_and_port(address) if address else ("localhost", None)
    if host != "localhost" and not host.startswith("127."):
        return False
    return port is None or not _answers(_outer_address(), port)


def _outer_address() -> str:
    """The address that other machines see; the loopback address on a machine without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route, suppress(OSError):
        route.connect(("192.0.2.1", 9))  # finds the route, and sends nothing
        return str(route.getsockname()[0])
    return "127.0.0.1"


def _host_and_port(address: str) -> tuple[str, int | None]:
    """Those of "10.0.0.5:6379"; ("", None) for an address of another kind, such as "auto"."""
    found = re.fullmatch(r"([\w.-]+):(\d{1,5})", address)
    return (found[1], int(found[2])) if found else ("", None)


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def _connect(address: str) -> None:
    host, port = _host_and_port(address)
    if port is not None and not _answers(host, port):  # Ray itself would try for many minutes
        raise CallError(f"{ADDRESS} is {address}, but nothing answers there: expected the address of a Ray cluster")
    import ray

    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        told = f"{ADDRESS} is {address}, but no Ray accepts this run there ({_reason(error)})"
        raise CallError(f"{told}; if the cluster asks for a token, Ray needs its RAY_AUTH_MODE") from None


def _start(folder: str, workers: int | None) -> None:
    import ray

    ray.init(
        address="local",
        num_cpus=max(1, workers or usable_cores()),
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        object_store_memory=OBJECT_STORE,
        _node_ip_address="127.0.0.1",
        _temp_dir=folder,
    )


@contextmanager
def _native_messages_hidden() -> Iterator[None]:
    """Discard what native code writes to standard error: Ray says there that it was told to be quiet."""
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _quiet_data() -> None:
    """No bars and messages of Ray Data: the run has its own."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def _cpus() -> int:
    import ray

    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(found.get("CPU", 1)))


def _reason(error: BaseException) -> str:
    """The last line that names an error, else the first line: Ray puts whole tracebacks into its messages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.match(line)]
    return (named[-1:] or lines[:1] or [type(error).__name__])[0]
