"""How many verdicts on the systems of judged sets the bounds of an evaluator leave (docs/results/reliability.md).

    python benchmarks/verdicts_kept.py zhao2020_dailydialog.jsonl.gz usr_personachat.jsonl.gz ... -m default

Each pair of systems is compared once within the bounds and once without them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import rejoinder
from rejoinder.comparing.compare import compare_table


def main() -> None:
    """Print one row per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judged", nargs="+")
    parser.add_argument("-m", "--metric", default="default")
    arguments = parser.parse_args()
    print("| judged set | pairs of systems | decided | the same verdict |\n|---|---|---|---|")
    total = kept = 0
    for path in arguments.judged:
        table = rejoinder.score(path, [arguments.metric])
        within = compare_table(table).decisive_verdicts
        without = compare_table(table, allow_doubtful=True).decisive_verdicts
        decided = sum(verdict.outcome != "doubtful" for verdict in within)
        same = sum(a.outcome == b.outcome and a.better == b.better for a, b in zip(within, without, strict=True))
        print(f"| {Path(path).name.partition('.')[0]} | {len(within)} | {decided} | {same} |", flush=True)
        total, kept = total + len(within), kept + same
    print(f"| all | {total} | | {kept} ({kept / total:.0%}) |")


if __name__ == "__main__":
    main()
