"""Makes the third generation of `default`: a network with several heads, the blend around it, and a page of results.

    python recipes/default_heads.py --data ../shared/data --work build/default_heads --minutes 110   # until it is done
    python recipes/default_heads.py --data ../shared/data --work build/default_heads evaluate        # one step again

The steps are `material`, `train`, `blend` and `evaluate`. A step whose result is in --work is skipped. `train` stops
after --minutes and is resumed by the same command, with the weights of a run without pauses.

**How long it takes.** With bf16, a core of an AMD EPYC with AVX-512 BF16 reads and learns about 2,100 tokens per second
(1,370 without it), and a batch of 16 rows has about 2,100: 20,000 batches take about 5.6 hours of one core and, with
two idle cores and two threads, three to four hours. Validation, every 500 batches, adds a tenth. By estimate,
`material` takes fifteen minutes (the scores to keep), `blend` fifteen and `evaluate` thirty.

**What teaches the network.** Only data whose licence allows commercial use:

self_dialogue (BSD-3-Clause), chitchat (MIT), personachat (MIT), topicalchat (CDLA-Sharing 1.0)
    true replies, and what is made of them by rule: replies that contradict a turn (`contradiction_rules.py`), do not
    fit, are broken or say nothing; and the scores of the network that training starts from, so that these are kept
dbdc3_en_dev (MIT)          thirty raters per turn: does it break the dialogue; a quarter of the dialogues is left out
conture_turn (CC BY 4.0)    three raters per turn
counterfactual_nli (Apache-2.0, over SNLI, CC BY-SA 4.0)   what contradicts a sentence, and what does not
semeval2020_task4 (CC BY-SA 4.0)   which of two sentences makes sense; the split `train`
blimp (CC BY)               which of two sentences is acceptable
oasst_en_100 (Apache-2.0)   which of two assistant replies is preferred
contradiction_facts.toml, truisms in this file   written for the project

Training starts from `default@1`, whose card lists what it learned from.

**What does not**, and why: the seven sets, humod and PandaLM, which measure; taskmaster_reward, where the source gives
the label away; llmfao (13 prompts) and llmbar_natural (100 pairs), which are too few and fit the blend alone; cola
(research use); mutual, com2sense, mctaco, spot_the_bot, uss and stc3 (no licence stated); dailydialog, dream, cdconv
and empatheticdialogues (non-commercial). mutual.train is only measured on.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recipes.contradiction_rules import MinimalPair, anchors, facts, polarity
from recipes.heads_results import Measured, page

from recipes import default_blend
from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.judged import JudgedSource
from rejoinder.data.negatives import Negatives, Place, places_of
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.replay import candidates_of
from rejoinder.learning.run import PRECISIONS, Paused, TrainingRun
from rejoinder.registry import load
from rejoinder.text.words import words_of
from rejoinder.types import Dialogue

START = "default@1"
CORPORA = {
    "self_dialogue.train": 12000,
    "chitchat.train": 3000,
    "personachat.valid": 1000,
    "topicalchat.valid_freq": 500,
    "topicalchat.valid_rare": 500,
}
"""Corpus -> dialogues at most."""
LIMITS: dict[str, Any] = {"max_length": 128, "max_response": 64, "towers": True, "speaker_marks": False}

TRUISMS = (
    "Everything has its good and bad sides.",
    "It depends on the situation.",
    "Different people see that differently.",
    "Life is full of surprises.",
    "That is how things go sometimes.",
    "There are always two sides to a story.",
    "You never know what will happen.",
    "Things change with time.",
    "Everybody has to decide for themselves.",
    "Some people like it and some people don't.",
    "It is what it is.",
    "Time will tell.",
    "That is a matter of taste.",
    "There is a lot that one could say about it.",
    "It is important to think about such things.",
    "Every day brings something new.",
    "Nothing is ever perfect.",
    "People do all kinds of things.",
    "In the end it all comes down to what you want.",
    "There is more than one way to look at this.",
    "That can be good or bad.",
    "It is always worth thinking about.",
    "One should always do one's best.",
    "Many things are possible these days.",
    "Such things happen all the time.",
    "Well, that's life.",
    "Sometimes it works and sometimes it doesn't.",
    "It is good to have an opinion on that.",
    "Everyone is different, after all.",
    "There is always something to learn.",
)
"""Sentences that are true of anything."""
NEUTRAL = (
    "Tell me something.",
    "What do you think?",
    "Can you give me an example sentence?",
    "Say something about it.",
    "What happened?",
    "Go on.",
    "What else?",
    "And then?",
)
"""Turns before a sentence that has no context of its own."""


@dataclass(frozen=True)
class Sizes:
    """How much is made and learned."""

    pairs: int = 9000
    """Contradictions of each of the three kinds at most."""
    contexts: int = 6000
    """Contexts of true replies against others."""
    replayed: int = 4000
    """Contexts whose replies should keep their scores."""
    steps: int = 20000
    tiny: bool = False


TINY_ROWS = 120
TINY = Sizes(pairs=40, contexts=40, replayed=12, steps=6, tiny=True)

SHARES = {
    ("consistent", "pairs"): ("contradictions", 0.28),
    ("consistent", "binary"): ("nli", 0.12),
    ("fits", "votes"): ("breakdowns", 0.10),
    ("fits", "ranking"): ("random", 0.10),
    ("sensible", "pairs"): ("sense", 0.06),
    ("acceptable", "pairs"): ("acceptable", 0.05),
    ("informative", "pairs"): ("informative", 0.05),
    ("preferred", "pairs"): ("preferred", 0.04),
    ("score", "votes"): ("replay", 0.20),
}
"""Head and loss -> the file that is learned, and its share."""


# What each head learns, as files that `train encoder` reads.


def material(data: Path, work: Path, sizes: Sizes, seed: int = 0) -> None:
    """Write one file per head and loss."""
    rng = np.random.default_rng([seed, 31])
    dialogues = drawn_dialogues(data, rng, tiny=sizes.tiny)
    places = [place for place in places_of(dialogues) if place.response.strip()]
    some = [places[number] for number in rng.permutation(len(places)).tolist()]
    made = {
        "contradictions": pairs_of(contradictions(dialogues, some, sizes, rng), rng),
        "nli": nli(data / "nli/counterfactual_nli.jsonl.gz"),
        "breakdowns": breakdowns(data / "judged"),
        "random": true_and_random(some[: sizes.contexts], places, rng),
        "sense": sense(data / "choices/semeval2020_task4.jsonl.gz", rng),
        "acceptable": acceptable(data / "text/blimp.jsonl.gz", some[: sizes.contexts // 2], places, rng),
        "informative": informative(some, dialogues, sizes.contexts // 2, rng),
        "preferred": preferred(data / "preferences/oasst_en_100.jsonl.gz"),
        "replay": replay(dialogues, sizes.replayed, seed),
    }
    for name, rows in made.items():
        write(work / "material" / f"{name}.jsonl", islice(rows, TINY_ROWS) if sizes.tiny else rows)


def drawn_dialogues(data: Path, rng: np.random.Generator, *, tiny: bool) -> list[Dialogue]:
    """Random dialogues of each corpus."""
    drawn = []
    for name, most in CORPORA.items():
        known = list(DialogueSource(str(data / "dialogues" / f"{name}.jsonl.gz"), on_error="skip"))
        drawn += [known[number] for number in rng.permutation(len(known))[: 60 if tiny else most].tolist()]
    return drawn


def contradictions(
    dialogues: Sequence[Dialogue], places: Sequence[Place], sizes: Sizes, rng: np.random.Generator
) -> list[MinimalPair]:
    """Of each kind as many as there are, or as are wanted."""
    fillers = [turn for dialogue in dialogues[:2000] for turn in dialogue.turns if 2 <= len(turn.split()) <= 12]
    made = [
        *islice(facts(fillers, rng), sizes.pairs),
        *islice(anchors(places, rng), sizes.pairs),
        *islice(polarity(dialogues, rng), sizes.pairs),
    ]
    return [pair for pair in made if pair.correct != pair.contradicting and len(pair.correct) < 400]


def pairs_of(pairs: Iterable[MinimalPair], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """As preferences for the correct reply."""
    for pair in pairs:
        yield preference(pair.context, pair.correct, pair.contradicting, rng)


def preference(
    context: Sequence[str], better: str, worse: str, rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """A record of a pair of replies, in random order."""
    swapped = rng is not None and rng.random() < 0.5
    first, second = (worse, better) if swapped else (better, worse)
    replies = {"response_a": first, "response_b": second}
    return {"context": list(context), "a": "first", "b": "second", "winner": "b" if swapped else "a", **replies}


def nli(path: Path) -> Iterator[dict[str, Any]]:
    """Hypotheses as replies to their premises: 0 contradicts, 1 does not."""
    for row in rows_of(path):
        if row["split"] != "test":
            consistent = int(row["label"] != "contradiction")
            yield {"context": [row["premise"]], "response": row["hypothesis"], "scores": {"consistent": [consistent]}}


def breakdowns(judged: Path) -> Iterator[dict[str, Any]]:
    """Votes on turns of chatbots, without the dialogues that are left out."""
    for row in rows_of(judged / "dbdc3_en_dev.jsonl.gz"):
        if row["context"] and row["response"].strip() and not left_out(row["dialogue_id"]):
            yield {"context": row["context"], "response": row["response"], "scores": {"fits": row["scores"]["fits"]}}
    for row in rows_of(judged / "conture_turn.jsonl.gz"):
        votes = [vote / 2 for vote in row["scores"]["overall impression (majority of 3)"]]
        if row["context"] and row["response"].strip():
            yield {"context": row["context"], "response": row["response"], "scores": {"fits": votes}}


def left_out(dialogue: str) -> bool:
    """Whether a dialogue of DBDC3 is measured on: a quarter of them, by a hash of the id."""
    return hashlib.sha256(dialogue.encode()).digest()[0] % 4 == 0


def true_and_random(
    chosen: Sequence[Place], places: Sequence[Place], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """The true reply above one of another dialogue and one of another place of the dialogue."""
    source, number_of = Negatives(places), {id(place): number for number, place in enumerate(places)}
    for place in chosen:
        yield ranked(place.context, place.response, 1)
        for kind in ("random", "same_dialogue"):
            text = source.of_kind(kind, number_of[id(place)], rng)
            if text is not None:
                yield ranked(place.context, text, 0)


def ranked(context: Sequence[str], response: str, score: float) -> dict[str, Any]:
    """A record of a reply with a score that counts among the replies to the same context."""
    return {"context": list(context), "response": response, "scores": {"rank": [score]}}


def sense(path: Path, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Sentences that make sense above those that do not."""
    for row in rows_of(path):
        if row["split"] == "train":
            right, wrong = row["options"][row["answer"]], row["options"][1 - row["answer"]]
            yield preference([neutral(rng)], right, wrong, rng)


def acceptable(
    path: Path, chosen: Sequence[Place], places: Sequence[Place], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Acceptable sentences above those that are not, and true replies above the same in broken language."""
    for row in rows_of(path):
        yield preference([neutral(rng)], row["good"], row["bad"], rng)
    source, number_of = Negatives(places), {id(place): number for number, place in enumerate(places)}
    for place in chosen:
        kind = ("garbled", "shuffled", "truncated", "repeated")[int(rng.integers(4))]
        text = source.of_kind(kind, number_of[id(place)], rng)
        if text is not None and text.strip():
            yield preference(place.context, place.response, text, rng)


def neutral(rng: np.random.Generator) -> str:
    """A turn that any sentence may follow."""
    return NEUTRAL[int(rng.integers(len(NEUTRAL)))]


def informative(
    places: Sequence[Place], dialogues: Sequence[Dialogue], most: int, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Replies of people above turns that are frequent elsewhere, and above truisms."""
    counts = Counter(turn.strip() for dialogue in dialogues for turn in dialogue.turns)
    usual = [turn for turn, count in counts.most_common(200) if count > 2 and turn]
    long = [place for place in places if 6 <= len(words_of(place.response)) <= 40]
    for place in long[:most]:
        pool = TRUISMS if rng.random() < 0.5 or not usual else usual
        yield preference(place.context, place.response, pool[int(rng.integers(len(pool)))], rng)


def preferred(path: Path) -> Iterator[dict[str, Any]]:
    """The ranking of assistant replies by people."""
    for row in rows_of(path):
        if row["a"].strip() and row["b"].strip() and row["a"] != row["b"] and row["votes"][0] in ("a", "b"):
            better, worse = (row["a"], row["b"]) if row["votes"][0] == "a" else (row["b"], row["a"])
            yield preference(row["context"], better, worse)


def replay(dialogues: Sequence[Dialogue], contexts: int, seed: int) -> Iterator[dict[str, Any]]:
    """Replies of many kinds with the scores of the network that training starts from, as probabilities."""
    examples = candidates_of(dialogues, contexts, seed, ("random", "same_dialogue", "echo", "generic", "garbled"))
    scores = load(START).with_calibration(None).score(examples)
    for example, score in zip(examples, scores.tolist(), strict=True):
        yield {"context": list(example.context), "response": example.response, "scores": {"score": [(score - 1) / 4]}}


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write records, and say how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")
    print(f"{path}: {len(lines)} rows", flush=True)


# The network.


def train(data: Path, work: Path, sizes: Sizes, minutes: float | None, precision: str, seed: int = 0) -> None:
    """Train for so many minutes, or to the end; then export."""
    specs = tuple(
        f"{head}(loss={loss}, data={str(work / 'material' / f'{name}.jsonl')!r}, share={share})"
        for (head, loss), (name, share) in SHARES.items()
    )
    network = Encoder(
        encoder=START, heads=specs, head_steps=sizes.steps, in_batch_steps=0, steps=0, whole_replies=True, **LIMITS
    )
    # The dialogues are not learned from again, but say what the network knows: for notes about unfamiliar text.
    dialogues = drawn_dialogues(data, np.random.default_rng([seed, 31]), tiny=sizes.tiny)
    run = TrainingRun(
        checkpoints=work / "checkpoints",
        resume=True,
        save_every=200,
        pause_after=minutes,
        mixed_precision=precision,
        quiet=False,
    )
    network.fit(dialogues, seed=seed, run=run)
    network.export(work / "network", trainable=True)
    (work / "network" / "MODEL_CARD.md").write_text(card(network), encoding="utf-8")
    shutil.rmtree(work / "checkpoints", ignore_errors=True)


def card(network: Encoder) -> str:
    """What taught the network, by licence and by head."""
    taught = (__doc__ or "").partition("**What teaches")[2]
    lines = [
        "# The network with several heads",
        "",
        f"**What teaches{taught.rstrip()}",
        "",
        "| head | loss | file | rows | share |",
    ]
    lines.append("|---|---|---|---|---|")
    for data in network.head_data:
        cells = (
            data.head.name,
            data.head.loss,
            Path(data.head.data).name,
            f"{len(data.rows):,}",
            f"{data.head.share:g}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


# The blend.


def blend(data: Path, work: Path, sizes: Sizes) -> None:
    """Fit the blend to the judged sets, corruptions and preferences."""
    prepare(data, work, sizes)
    judged = [item for path in sorted((work / "sets").glob("*.jsonl")) for item in JudgedSource(str(path)).judged()]
    run = TrainingRun(member_scores=work / "scores", quiet=False)
    fitted = Blend(
        members=(str(work / "network"), "default-fast", "fluency"),
        hold_out="sets",
        preferences=tuple(map(str, sorted((work / "preferences").glob("*.jsonl")))),
        title="default@4",
    ).fit((), judged, run=run)
    print(fitted.report_)
    fitted.save(work / "blend")


def prepare(data: Path, work: Path, sizes: Sizes) -> None:
    """Write what the blend is fitted to, and the broken replies that it is measured on."""
    default_blend.main(["sets", str(data / "judged"), "-o", str(work / "sets")])
    corruptions(data, "valid", 3, work / "sets" / "corruptions.jsonl")
    corruptions(data, "test", 7, work / "garbled.jsonl")
    if sizes.tiny:
        for path in (work / "sets").glob("*.jsonl"):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            path.write_text("".join(lines[:: len(lines) // 80]), encoding="utf-8")
    for name in ("llmbar_natural", "llmfao", "oasst_en_100"):
        rows = list(votes_on_pairs(data / "preferences" / f"{name}.jsonl.gz"))
        write(work / "preferences" / f"{name}.jsonl", rows[:200] if sizes.tiny else rows)


def corruptions(data: Path, split: str, seed: int, output: Path) -> None:
    """Write replies of people, and the same in broken language."""
    paths = [
        str(data / "dialogues" / f"{name}.{split}.jsonl.gz") for name in ("self_dialogue", "chitchat", "personachat")
    ]
    default_blend.main(["corruptions", "--seed", str(seed), "-o", str(output), "--dialogues", *paths])


def votes_on_pairs(path: Path) -> Iterator[dict[str, Any]]:
    """One record per vote."""
    for row in rows_of(path):
        for vote in row["votes"]:
            if row["a"].strip() and row["b"].strip() and row["a"] != row["b"]:
                yield {**preference(row["context"], row["a"], row["b"]), "winner": vote}


def evaluate(data: Path, work: Path, sizes: Sizes, output: Path) -> None:
    """Measure, and write the page."""
    network, fitted = Encoder.load(work / "network"), Blend.load(work / "blend")
    measured = Measured(data, work, fitted, network, 20 if sizes.tiny else 1 << 30)
    lines = []
    for line in measured.lines():
        print(line, flush=True)
        lines.append(line)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(lines, "python recipes/default_heads.py evaluate"), encoding="utf-8")


STEPS = {"material": "material/replay.jsonl", "train": "network", "blend": "blend", "evaluate": "page.md"}
"""Step -> what it makes."""


def main(given: Sequence[str] | None = None) -> None:
    """Run all steps that are not done, or those that are named, again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", choices=[[], *STEPS], help="steps to do again; by default all not yet done")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("build/default_heads"))
    parser.add_argument("--page", type=Path, help="where the page is written (default: page.md in --work)")
    parser.add_argument("--minutes", type=float, help="training stops after this time; the next run resumes it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps-of-training", type=int, metavar="N", help="fewer than usual")
    parser.add_argument("--mixed-precision", default="bf16", choices=PRECISIONS)
    parser.add_argument("--tiny", action="store_true", help="nothing of use: shows that all steps work")
    arguments = parser.parse_args(given)
    torch.set_num_threads(arguments.threads)
    sizes = TINY if arguments.tiny else Sizes()
    if arguments.steps_of_training:
        sizes = replace(sizes, steps=arguments.steps_of_training)
    data, work, done = arguments.data, arguments.work, {name: arguments.work / made for name, made in STEPS.items()}
    wanted = arguments.steps or [name for name, made in done.items() if not made.exists()]
    try:
        if "material" in wanted:
            material(data, work, sizes)
        if "train" in wanted:
            train(data, work, sizes, arguments.minutes, arguments.mixed_precision)
        if "blend" in wanted:
            blend(data, work, sizes)
        if "evaluate" in wanted:
            evaluate(data, work, sizes, arguments.page or done["evaluate"])
    except Paused as paused:
        print(f"{paused}: run the same command again")


if __name__ == "__main__":
    main()
