"""Are faults found where they are, and nowhere else? Recall, precision at 5 % faulty replies, false alarms, speed.

    python benchmarks/faults.py                  # the half that the rules were not made on
    python benchmarks/faults.py --half made      # while a rule is made
    python benchmarks/faults.py --write          # also docs/results/faults.md, and the figures of the cards

The replies are those of `faulty_replies.py`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faulty_replies import FAULTS, Half, Made, assistant_replies, good_replies, human_replies, negatives, positives
from rejoinder.faulting.fault import LEAST_PRECISION, PREVALENCE, FaultFinder, chosen_faults
from rejoinder.show.text import interval_text
from rejoinder.stats.intervals import Interval, Sums, share_interval
from rejoinder.types import Example

ROOT = Path(__file__).parents[1]
CARDS = ROOT / "src" / "rejoinder" / "resources" / "faults.json"
PAGE = ROOT / "docs" / "results" / "faults.md"


def share(found: Sequence[bool]) -> Interval:
    """The share of True with its 95 % interval."""
    import numpy as np

    values = np.array(found, np.float64)
    return share_interval(Sums(values, np.ones(len(values))), (0.0, 1.0))


def restated(recall: Interval, alarms: Interval) -> Interval:
    """The precision where 5 % of the replies have the fault; the bounds take the worst and the best of both shares."""

    def precision(found: float, wrong: float) -> float:
        right, false = PREVALENCE * found, (1 - PREVALENCE) * wrong
        return right / (right + false) if right + false else float("nan")

    return Interval(
        precision(recall.estimate, alarms.estimate),
        precision(recall.low, alarms.high),
        precision(recall.high, alarms.low),
    )


def found_in(examples: Sequence[Example], faults: Sequence[str] = FAULTS) -> list[set[str]]:
    """The faults that are found in each example; other replies are those of the list."""
    finder = FaultFinder.of(chosen_faults(faults), examples)
    return [set(found) for found in finder.find(examples)]


def has_fault(made: Made) -> bool:
    """Whether the recipe did what it should: some loops only got white space, and systems with canned replies have "
    "others."""
    return made.kind != "other" and not (made.fault == "loop" and made.example.response.endswith(" " * 4))


def measured(half: Half) -> dict[str, Any]:
    """All figures of one half."""
    people, assistants, good = human_replies(half), assistant_replies(half), good_replies()
    by_people, by_assistants, in_good = (found_in(rows) for rows in (people, assistants, good))
    harmless = negatives(half)
    in_harmless = found_in([made.example for made in harmless])
    table: dict[str, Any] = {}
    for fault in FAULTS:
        rows = positives(fault, half)
        faulty = [made for made in rows if has_fault(made)]
        found = found_in([made.example for made in rows], [fault])
        hits = [fault in names for made, names in zip(rows, found, strict=True) if has_fault(made)]
        own = [(made, names) for made, names in zip(harmless, in_harmless, strict=True) if made.fault == fault]
        recall = share(hits)
        alarms = share([fault in names for names in by_people])
        all_alarms = share([fault in names for names in by_people + by_assistants])
        worse = max(alarms, all_alarms, key=lambda one: one.estimate)
        table[fault] = {
            "recall": recall,
            "false_alarms": alarms,
            "precision": restated(recall, worse),
            "assistants": share([fault in names for names in by_assistants]),
            "good": sum(fault in names for names in in_good),
            "negatives": (sum(fault in names for _, names in own), len(own)),
            "missed": Counter(made.kind for made, hit in zip(faulty, hits, strict=True) if not hit),
            "kinds": Counter(made.kind for made in faulty),
            "missed_rows": [made for made, hit in zip(faulty, hits, strict=True) if not hit],
            "alarm_rows": [
                row
                for rows, names in ((people, by_people), (assistants, by_assistants), (good, in_good))
                for row, each in zip(rows, names, strict=True)
                if fault in each
            ],
            "negative_rows": [made for made, names in own if fault in names],
        }
    on = [fault for fault in FAULTS if table[fault]["precision"].estimate >= LEAST_PRECISION]
    alone = {"people": by_people, "assistants": by_assistants}
    return {
        "faults": table,
        "on": on,
        "any": {name: share([bool(names & set(on)) for names in rows]) for name, rows in alone.items()},
        "counts": {"people": len(people), "assistants": len(assistants), "good": len(good)},
    }


def speed(half: Half) -> dict[str, float]:
    """Replies per second of one core, all rules together, the best of five: of people, and of assistants."""
    from rejoinder.text.language import language

    found = {}
    for name, rows in (("people", human_replies(half)), ("assistants", assistant_replies(half))):
        times = []
        for _ in range(5):
            language.cache_clear()
            start = time.process_time()
            FaultFinder.of(chosen_faults(FAULTS), rows).find(rows)
            times.append(time.process_time() - start)
        found[name] = len(rows) / min(times)
    return found


def shown(made: Made | Example) -> str:
    """A reply with what was said before it, on one line."""
    one = made.example if isinstance(made, Made) else made
    kind = made.kind if isinstance(made, Made) else one.system
    return f"   [{kind}] {(one.context or ('',))[-1][-70:]!r} -> {one.response[:110]!r} .. {one.response[-60:]!r}"


ABOUT = Path(__file__).parent / "faults" / "page.md"
"""What the page says around the figures."""

LADDER = "\n## The ladder of known truths"
"""Where the part of the page begins that this script does not write."""


def page(result: dict[str, Any], rates: dict[str, float]) -> str:
    """docs/results/faults.md without the ladder."""
    import numpy as np

    table, counts = result["faults"], result["counts"]
    columns = ("fault", "recall", "precision at 5 %", "false alarms: people", "assistants", "good", "hard negatives")
    rows = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for name, row in table.items():
        wrong, of = row["negatives"]
        rows.append(
            f"| {name} | {interval_text(row['recall'], 2)} | {interval_text(row['precision'], 2)} "
            f"| {row['false_alarms'].estimate:.2%} | {row['assistants'].estimate:.2%} | {row['good']} | "
            f"{f'{wrong} of {of}' if of else '-'} |"
        )
    off = [name for name in FAULTS if name not in result["on"]]
    short = {
        "recall of each rule, .90": [name for name, row in table.items() if row["recall"].estimate < 0.9],
        "precision of each rule at 5 %, .95": [n for n, row in table.items() if row["precision"].estimate < 0.95],
        "false alarms of each rule on human replies, .5 %": [
            name for name, row in table.items() if row["false_alarms"].estimate > 0.005
        ],
        "false alarms of any fault on human replies, 5 %": ["any"] if result["any"]["people"].estimate > 0.05 else [],
        "all rules together, 20,000 replies/s": ["human replies"] if rates["people"] < 20_000 else [],
    }
    asked = ["| asked | |", "|---|---|"]
    asked += [f"| {what} | {f'not met by {listed(names)}' if names else 'met'} |" for what, names in short.items()]
    worst = sorted(FAULTS, key=lambda name: table[name]["recall"].estimate)[:3]
    words = {
        name: round(float(np.mean([len(one.response.split()) for one in rows_of])))
        for name, rows_of in (("people", human_replies("kept")), ("assistants", assistant_replies("kept")))
    }
    return ABOUT.read_text(encoding="utf-8").format(
        unusable=sum(not has_fault(made) for made in positives("loop", "kept")),
        **counts,
        table="\n".join(rows),
        on=listed(result["on"]),
        off=f"With `--all` only: {listed(off)}." if off else "No rule had to be turned off.",
        any_people=f"{result['any']['people'].estimate:.1%}",
        any_assistants=f"{result['any']['assistants'].estimate:.1%}",
        fast=round(rates["people"], -3).__int__(),
        slow=round(rates["assistants"], -2).__int__(),
        words=words["people"],
        long_words=words["assistants"],
        asked="\n".join(asked),
        missed="; ".join(f"{name}: {kinds(table[name]['missed'], table[name]['kinds'])}" for name in worst),
    )


def listed(names: Sequence[str]) -> str:
    """Names with commas."""
    return ", ".join(f"*{name}*" for name in names)


def kinds(missed: Counter[str], of: Counter[str]) -> str:
    """'words 42 of 87, word 5 of 20', the most first."""
    return ", ".join(f"{kind.strip()} {count} of {of[kind]}" for kind, count in missed.most_common(2))


def cards(result: dict[str, Any]) -> dict[str, Any]:
    """The figures of the cards."""
    shown = ("recall", "false_alarms", "precision")
    return {
        "source": "benchmarks/faults.py, docs/results/faults.md",
        "faults": {
            name: {
                key: [round(value, 4) for value in (row[key].estimate, row[key].low, row[key].high)] for key in shown
            }
            for name, row in result["faults"].items()
        },
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("made", "kept"), default="kept")
    parser.add_argument("--show", metavar="FAULT", help="replies that are missed or wrongly found, of the half `made`")
    parser.add_argument("--write", action="store_true", help="write the page and the figures of the cards")
    arguments = parser.parse_args()
    half: Half = "made" if arguments.show else arguments.half
    result = measured(half)
    print(f"{half}: {result['counts']}")
    for name, row in result["faults"].items():
        if arguments.show in (None, name):
            wrong, of = row["negatives"]
            print(
                f"{name:16} recall {interval_text(row['recall'], 2):17} precision "
                f"{interval_text(row['precision'], 2):17} people "
                f"{row['false_alarms'].estimate:.2%} assistants {row['assistants'].estimate:.2%} good {row['good']} "
                f"negatives {wrong}/{of} missed {dict(row['missed'])}"
            )
        if arguments.show == name:
            for key in ("missed_rows", "alarm_rows", "negative_rows"):
                print(key)
                print("\n".join(map(shown, row[key][:40])))
    print("any:", {name: interval_text(one, 3) for name, one in result["any"].items()}, "on:", result["on"])
    rates = speed(half)
    print("replies/s:", {name: round(value) for name, value in rates.items()})
    if arguments.write and half == "kept":
        ladder = PAGE.read_text(encoding="utf-8").partition(LADDER)[2] if PAGE.exists() else ""
        PAGE.write_text(page(result, rates) + (LADDER + ladder if ladder else ""), encoding="utf-8")
        CARDS.write_text(json.dumps(cards(result), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
