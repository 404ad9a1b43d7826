"""A simulated crowd whose quality is known, through the real server of a study: who is flagged, and which system wins?

    python benchmarks/simulated_crowd.py --crowds 5
    python benchmarks/simulated_crowd.py --crowds 5 --noise 1.2     # raters who agree less

Honest raters score the quality of a reply plus their severity and noise. Careless raters give random scores without
reading (slow ones wait as long as honest raters), straight-liners almost always give the same score, and adversarial
raters turn the scale around. Everyone answers over HTTP; time runs faster by a factor (`SPEED`), in the study's checks
as well.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder import agreement
from rejoinder.people.export import exported
from rejoinder.people.progress import state_of
from rejoinder.people.queue import Assigner
from rejoinder.people.store import open_store
from rejoinder.people.study import read_study
from simulated_raters import Page, Visitor, answer, begin, served

SPEED = 20.0
SYSTEMS = {"first": 3.6, "second": 3.3, "third": 3.0, "fourth": 2.2}
CONTEXT_SD, REPLY_SD, SEVERITY_SD, NOISE_SD = 0.4, 0.6, 0.3, 0.7
CROWD = {"honest": 24, "careless": 4, "careless-slow": 3, "straight-lining": 5, "adversarial": 4}
SECONDS = {"honest": 6.0, "careless": 0.7, "careless-slow": 6.0, "straight-lining": 0.7, "adversarial": 6.0}
"""Median time per item."""
CONTEXTS = 60
STUDY = f"""
title = "Simulated crowd"
examples = "replies.jsonl"
raters_per_item = 3
items_per_rater = 24
shared_items = 6
[checks]
garbled = 0.1
repeated = 0.1
fastest = {1.5 / SPEED}
[[questions]]
name = "overall"
text = "How good is this reply?"
"""


@dataclass(frozen=True)
class CrowdResult:
    """What became of one crowd."""

    flags: dict[str, frozenset[str]]
    """Rater -> kinds of flags."""
    rankings: dict[str, list[tuple[str, str, float, float, float]]]
    """Which raters were kept -> the two systems, their difference and its interval."""


def score(quality: float, rng: random.Random, severity: float, noise: float = NOISE_SD) -> int:
    """The score of an honest rater."""
    return min(5, max(1, round(quality + severity + rng.gauss(0, noise))))


def true_means(noise_sd: float = NOISE_SD, draws: int = 200_000) -> dict[str, float]:
    """The mean score of each system if infinitely many honest raters scored infinitely many replies."""
    spread = math.sqrt(CONTEXT_SD**2 + REPLY_SD**2 + SEVERITY_SD**2 + noise_sd**2)
    noise = np.random.default_rng(0).normal(0, spread, draws)
    return {name: float(np.clip(np.round(quality + noise), 1, 5).mean()) for name, quality in SYSTEMS.items()}


def run_crowd(folder: Path, seed: int, noise: float = NOISE_SD) -> CrowdResult:
    """Write a study, let the crowd answer it, and evaluate what was stored."""
    qualities = _write_replies(folder / "replies.jsonl", random.Random(seed))
    study_file = folder / "study.toml"
    study_file.write_text(STUDY, encoding="utf-8")
    crowd = [f"{kind} {number}" for kind, count in CROWD.items() for number in range(count)]
    with served(study_file) as server, ThreadPoolExecutor(len(crowd)) as pool:
        list(pool.map(lambda who: _rate(server.port, who, qualities, seed, noise), crowd))
    study = read_study(study_file)
    with closing(open_store(study_file.with_suffix(".db"))) as store:
        assigner = Assigner(study, store)
        ids = {rater.id: rater.source.removeprefix("platform:") for rater in store.raters()}
        found = [(ids[flag.rater], flag.kind) for flag in state_of(study, store, assigner).flags]
        answered = {ids[answer.rater] for answer in store.answers()}  # the last to join may have found nothing left
        flags = {who: frozenset(kind for rater, kind in found if rater == who) for who in crowd if who in answered}
        kept = {
            "all raters": [],
            "without flagged raters": [rater for rater, who in ids.items() if flags.get(who)],
            "honest raters only": [rater for rater, who in ids.items() if not who.startswith("honest")],
        }
        rankings = {}
        for name, without in kept.items():
            judged = folder / "judged.jsonl"
            judged.write_text("".join(exported(study, store, assigner.items, without=without)), encoding="utf-8")
            rankings[name] = _differences(judged)
    return CrowdResult(flags, rankings)


def _write_replies(path: Path, rng: random.Random) -> dict[str, float]:
    """Replies of all systems to all contexts; the result is the quality of each."""
    qualities: dict[str, float] = {}
    lines = []
    for number in range(CONTEXTS):
        context = rng.gauss(0, CONTEXT_SD)
        for system, quality in SYSTEMS.items():
            text = f"Reply number {len(qualities)} of all the replies"
            qualities[text] = quality + context + rng.gauss(0, REPLY_SD)
            record = {
                "id": f"{number}-{system}",
                "context": [f"Question {number}?"],
                "response": text,
                "system": system,
            }
            lines.append(json.dumps(record) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return qualities


def _rate(port: int, who: str, qualities: dict[str, float], seed: int, noise: float) -> None:
    """Answer everything that the server gives to this rater."""
    rng = random.Random(f"{seed} {who}")
    kind = who.split()[0]
    severity, favourite = rng.gauss(0, SEVERITY_SD), rng.randint(3, 5)

    def answers(page: Page) -> dict[str, str]:
        honest = score(qualities.get(page.reply, 1.0), rng, severity, noise)  # a shuffled reply is not among them
        chosen = {
            "honest": honest,
            "careless": rng.randint(1, 5),
            "careless-slow": rng.randint(1, 5),
            "straight-lining": favourite if rng.random() < 0.97 else rng.randint(1, 5),
            "adversarial": 6 - honest,
        }[kind]
        return dict.fromkeys(page.questions, str(chosen))

    visitor = Visitor(port)
    page = begin(visitor, f"/join?PROLIFIC_PID={who.replace(' ', '%20')}")
    while page.item:
        time.sleep(rng.lognormvariate(math.log(SECONDS[kind]), 0.5) / SPEED)
        page = answer(visitor, page, answers)
    visitor.close()


def _differences(judged: Path) -> list[tuple[str, str, float, float, float]]:
    systems = agreement(judged, resamples=100).dimensions[0].systems
    if systems is None:
        raise RuntimeError("the ratings do not suffice for the means of systems")
    return [
        (one.a, one.b, one.contrast.interval.estimate, one.contrast.interval.low, one.contrast.interval.high)
        for one in systems.differences
    ]


def flag_table(results: list[CrowdResult]) -> str:
    """How many raters of each kind were flagged, by the kind of flag."""
    kinds = sorted({kind for result in results for found in result.flags.values() for kind in found})
    rows = [["raters", "number", "flagged", *kinds]]
    for group in CROWD:
        flags = [found for result in results for who, found in result.flags.items() if who.split()[0] == group]
        by_kind = Counter(kind for found in flags for kind in found)
        counts = [len(flags), sum(map(bool, flags)), *(by_kind[kind] for kind in kinds)]
        rows.append([group, *map(str, counts)])
    every = [(who.startswith("honest"), bool(found)) for result in results for who, found in result.flags.items()]
    right = sum(flagged and not honest for honest, flagged in every)
    precision = right / max(1, sum(flagged for _, flagged in every))
    recall = right / sum(not honest for honest, _ in every)
    return f"{_markdown(rows)}\n\nPrecision of flags {precision:.2f}, recall {recall:.2f}."


def ranking_table(results: list[CrowdResult], noise: float = NOISE_SD) -> str:
    """How well the true differences between systems were recovered, by which raters were kept."""
    means = true_means(noise)
    head = (
        "ratings of|mean absolute error|95 % intervals that cover|separated, right order|wrong order|best system found"
    )
    rows = [head.split("|")]
    for name in results[0].rankings:
        found = [one for result in results for one in result.rankings[name]]
        errors = [abs(estimate - (means[b] - means[a])) for a, b, estimate, _, _ in found]
        covered = sum(low <= means[b] - means[a] <= high for a, b, _, low, high in found)
        apart = [(means[b] > means[a]) == (low > 0) for a, b, _, low, high in found if low > 0 or high < 0]
        best = sum(_best(result.rankings[name]) == max(means, key=means.__getitem__) for result in results)
        total = len(results) * math.comb(len(SYSTEMS), 2)
        counts = [f"{covered} of {total}", f"{sum(apart)} of {total}", str(len(apart) - sum(apart))]
        rows.append([name, f"{np.mean(errors):.2f}", *counts, f"{best} of {len(results)}"])
    return _markdown(rows)


def _best(differences: list[tuple[str, str, float, float, float]]) -> str:
    total = dict.fromkeys(SYSTEMS, 0.0)
    for a, b, estimate, *_ in differences:
        total[b] += estimate
        total[a] -= estimate
    return max(total, key=total.__getitem__)


def _markdown(rows: list[list[str]]) -> str:
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=NOISE_SD, help="standard deviation of honest raters' noise")
    arguments = parser.parse_args()
    results = []
    for number in range(arguments.crowds):
        with tempfile.TemporaryDirectory() as folder:
            results.append(run_crowd(Path(folder), arguments.seed + number, arguments.noise))
    print(flag_table(results), ranking_table(results, arguments.noise), sep="\n\n")


if __name__ == "__main__":
    main()
