"""Would the tests notice if an equation were wrong? Small changes are made to the source, each against its tests.

    make mutants                                        # all of what follows
    .venv-mutants/bin/python benchmarks/mutants.py draw [--most 1000] [--seed 24]     # needs cosmic-ray
    .venv/bin/python benchmarks/mutants.py run [--room stats] [--seconds 6] [--survivors | --numbers 7 13]
    .venv/bin/python benchmarks/mutants.py table

`draw` takes a seeded sample from `stats`, `metrics` and the modules with the evaluators' equations. `run` tries each
mutant on a copy of the checkout, and adds its verdict to build/mutants/results.jsonl; mutants that
are there already are not tried again, so that an interrupted run is resumed. `--survivors` tries those again that no
test killed. `table` prints the figures of docs/results/mutation-testing.md.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rejoinder"
BUILD = ROOT / "build" / "mutants"
SAMPLE, RESULTS = BUILD / "sample.jsonl", BUILD / "results.jsonl"

EQUATIONS = {
    "evaluators/adem": "adem dot human_likeness learning length solvers vectors",
    "evaluators/am_fm": "am_fm fluency parts semantic_space weights",
    "evaluators/blend": "agreement choosing ridge surface trees",
    "evaluators/encoder": "branch_encoder branching cross_encoder in_batch_stage scored_replies stages towers",
    "evaluators/ruber": "network pooling ruber stages",
    "evaluators/static": "network reading stages trainable",
    "learning": "in_batch losses schedules",
}
TESTS = {
    "stats": ["tests/stats"],
    "metrics": ["tests/metrics"],
    "evaluators": [*(f"tests/{folder}" for folder in EQUATIONS), "tests/evaluators/test_evaluator_contract.py"],
}


def modules() -> list[Path]:
    """The modules that mutants are drawn from."""
    whole = [path for room in ("stats", "metrics") for path in sorted((PACKAGE / room).rglob("*.py"))]
    return whole + [PACKAGE / folder / f"{name}.py" for folder, names in EQUATIONS.items() for name in names.split()]


def room_of(module: str) -> str:
    """The room whose tests a module's mutants meet."""
    room = module.split("/")[0]
    return room if room in TESTS else "evaluators"


def draw(options: argparse.Namespace) -> None:
    """Writes the sample."""
    from mutant_drawing import draw as drawn

    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    with SAMPLE.open("w", encoding="utf-8") as file:
        for number, (module, operator, _, mutated) in enumerate(drawn(modules(), options.most, options.seed)):
            row = {"number": number, "module": module.relative_to(PACKAGE).as_posix(), "operator": operator}
            row |= _changed_lines(module.read_text(encoding="utf-8"), mutated)
            file.write(json.dumps(row) + "\n")


def _changed_lines(source: str, mutated: str) -> dict[str, object]:
    old, new = source.splitlines(keepends=True), mutated.splitlines(keepends=True)
    changes = [
        code for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    (_, start, _, first, _), (_, _, end, _, last) = changes[0], changes[-1]
    return {"start": start, "end": end, "before": old[start:end], "after": new[first:last]}


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines; none if it does not exist."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def verdicts() -> dict[int, dict[str, Any]]:
    """The last verdict on each mutant, by number."""
    return {row["number"]: row for row in read(RESULTS)}


def run(options: argparse.Namespace) -> None:
    """Tries the mutants of one room, or of each room in a process of its own."""
    if not options.room:
        for room in TESTS:
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--room", room], check=True)
        return
    tree = BUILD / options.room / "tree"
    copy_checkout(tree)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    import pytest

    from mutant_trying import OPTIONS, QUIET, Mutant, Session, Verdict, quick_hypothesis

    known = verdicts()
    wanted = [Mutant(**row) for row in read(SAMPLE) if room_of(row["module"]) == options.room]
    if options.numbers:
        wanted = [one for one in wanted if one.number in options.numbers]
    elif options.survivors:
        wanted = [one for one in wanted if known.get(one.number, {}).get("verdict") in ("survived", "no test")]
    elif not options.fresh:
        wanted = [one for one in wanted if one.number not in known]
    wanted = wanted[: options.most]
    results = BUILD / "fresh.jsonl" if options.fresh else RESULTS

    def report(verdict: Verdict) -> None:
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {verdict.number} {verdict.verdict} {verdict.seconds:.1f} s", flush=True)

    session = Session(tree, wanted, options.seconds, report, options.fresh)
    quick_hypothesis()
    os.chdir(tree)
    sys.path[0] = str(tree / "src")
    tests = [path for path in TESTS[options.room] if Path(path).exists()]
    code = pytest.main([*OPTIONS, *QUIET, "--basetemp", str(tree.parent / "tests"), *tests], plugins=[session])
    if code != pytest.ExitCode.OK:
        sys.exit(f"pytest ended with {code!r}")


def copy_checkout(tree: Path) -> None:
    """Copies the checkout's files, so that work on them does not disturb the run; compiled code of old ones is kept."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    names = {name for name in listed if name and (ROOT / name).is_file()}
    for name in names:
        copy = tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_bytes() != (ROOT / name).read_bytes():
            shutil.copyfile(ROOT / name, copy)
    for path in tree.glob("tests/**/*.py"):
        if path.relative_to(tree).as_posix() not in names:
            path.unlink()
    # Tests find models and judged replies beside the checkout.
    for link, target in (
        (tree / "models-cache", ROOT / "models-cache"),
        (tree.parent / "shared", ROOT.parent / "shared"),
    ):
        if target.exists() and not link.exists():
            link.symlink_to(target.resolve())


def table(options: argparse.Namespace) -> None:
    """Prints the figures by room, and the mutants that no test killed."""
    import numpy as np

    from rejoinder.stats.intervals import Sums, share_interval

    sample, found = {row["number"]: row for row in read(SAMPLE)}, verdicts()
    print("| room | mutants | killed | timed out | survived | met by no test | score | 95 % interval |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for room in (*TESTS, "all"):
        rows = [row for number, row in found.items() if room in ("all", room_of(sample[number]["module"]))]
        count = Counter(row["verdict"] for row in rows)
        if not rows:
            continue
        caught = np.array([float(row["verdict"] in ("killed", "timed out")) for row in rows])
        score = share_interval(Sums(caught, np.ones(caught.size)), (0.0, 1.0))
        cells = [room, len(rows), *(count[name] for name in ("killed", "timed out", "survived", "no test"))]
        cells += [f"{100 * score.estimate:.1f} %", f"{100 * score.low:.1f} to {100 * score.high:.1f} %"]
        print("|", " | ".join(map(str, cells)), "|")
    if options.survivors:
        for number, row in sorted(found.items()):
            if row["verdict"] not in ("killed", "timed out"):
                one = sample[number]
                print(f"\n{number} {row['verdict']}: {one['module']}:{one['start'] + 1} {one['operator']}")
                print("".join([f"- {line}" for line in one["before"]] + [f"+ {line}" for line in one["after"]]), end="")


def main() -> None:
    """Runs one of the three commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("draw", help="draw mutants")
    one.add_argument("--most", type=int, default=1000, help="how many")
    one.add_argument("--seed", type=int, default=24)
    one.set_defaults(command=draw)
    one = commands.add_parser("run", help="try mutants")
    one.add_argument("--room", choices=list(TESTS), help="mutants of this room only")
    one.add_argument("--most", type=int, help="how many of each room")
    one.add_argument("--seconds", type=float, default=6, help="tests of one mutant take at most so long unmutated")
    one.add_argument("--numbers", type=int, nargs="+", help="try these mutants, again if need be")
    one.add_argument("--survivors", action="store_true", help="try again what no test killed")
    one.add_argument(
        "--fresh", action="store_true", help="a new process for every mutant; to build/mutants/fresh.jsonl"
    )
    one.set_defaults(command=run)
    one = commands.add_parser("table", help="print the score")
    one.add_argument("--survivors", action="store_true", help="list the mutants that no test killed")
    one.set_defaults(command=table)
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    main()
