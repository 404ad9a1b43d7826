"""A data folder and a models' folder small enough that every page of the papers is made from them in seconds."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers.published.am_fm import TABLE_1_SYSTEMS, TABLE_3
from rejoinder.evaluators.simple import SkipThought
from rejoinder.registry import build_reply_model
from rejoinder.types import Dialogue
from small_dialogues import small_parameters
from tiny_encoder import TOPICS, write_encoder
from tiny_vectors import tiny_characters

SYSTEMS = ("ground-truth", "negative-sample", "hred greedy", "seq2seq nucleus")
"""As in zhao2020: a model with its decoding."""
CONTEXTS, ITEMS, RATERS = 14, 12, 4
OBJECTIVE = (
    *("Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4", "METEOR", "ROUGE_L", "CIDEr"),
    *("EmbeddingAverageCosineSimilairty", "VectorExtremaCosineSimilarity", "GreedyMatchingScore"),
)
TAILS = ("all day long", "in the morning", "with my friends", "every single week", "more than anything else")

Record = Mapping[str, Any]


def write_data(folder: Path) -> Path:
    """A folder with judged/ and dialogues/ as the pages expect them."""
    for name in ("judged", "dialogues"):
        (folder / name).mkdir(parents=True)
    dailydialog = [
        {
            **record,
            "scores": {**record["scores"], **dict.fromkeys(("relevance", "grammar"), record["scores"]["overall"])},
        }
        for record in judged("zhao2020_dailydialog", "overall")
    ]
    _write(folder / "judged" / "zhao2020_dailydialog.jsonl.gz", dailydialog)
    personachat = renamed(judged("zhao2020_personachat", "overall"), {"seq2seq nucleus": "S2S_attn nucleus"})
    _write(folder / "judged" / "zhao2020_personachat.jsonl.gz", personachat)
    gupta = {"hred greedy": "dualencoder_train", "seq2seq nucleus": "seq2seqf"}
    _write(folder / "judged" / "gupta2019_dailydialog.jsonl.gz", renamed(judged("gupta", "appropriateness"), gupta))
    _write(folder / "judged" / "humod.jsonl.gz", judged("humod", "relevance"))
    usr = [
        {**record, "scores": {"Maintains Context": [3, 1], **record["scores"]}} for record in judged("usr", "Overall")
    ]
    _write(folder / "judged" / "usr_personachat.jsonl.gz", usr)
    _write(folder / "judged" / "conture_dialogue.jsonl.gz", judged("conture", "human (overall)"))
    _write(folder / "judged" / "dstc6_t2.jsonl.gz", dstc6())
    objective = {system: dict.fromkeys(OBJECTIVE, 0.1) for system in TABLE_1_SYSTEMS.rows}
    for place, values in enumerate(objective.values()):
        values.update({name: value + place / 100 for name, value in values.items()})
    (folder / "judged" / "dstc6_t2.systems.json").write_text(json.dumps({"objective": objective}))
    corpora = ("dailydialog.train", "dailydialog.test", "personachat.valid", "self_dialogue.train")
    for corpus in (*corpora, "empatheticdialogues.train", "empatheticdialogues.test"):
        records = [{"id": each.id, "turns": each.turns} for each in dialogues(corpus)]
        _write(folder / "dialogues" / f"{corpus}.jsonl.gz", records)
    return folder


def write_models(folder: Path) -> Path:
    """A folder of models: encoders for ADEM and skip-thought, two reply models per corpus, and out-of-fold scores."""
    folder.mkdir()
    write_encoder(folder / "minilm", positions=128)
    shutil.copytree(tiny_characters(), folder / "adem" / "tweet2vec")
    SkipThought(vocabulary=320, embedding=8, hidden=12, epochs=1).fit(dialogues("dailydialog.train")).save(
        folder / "skip-thought"
    )
    for corpus in ("dailydialog", "empatheticdialogues"):
        home = folder / "reply-models" / corpus
        home.mkdir(parents=True)
        for name in ("r-tfidf", "hred"):
            build_reply_model(name, small_parameters(name)).fit(dialogues(f"{corpus}.train")).save(home / name)
    (folder / "reply-models" / "dailydialog" / "note.md").write_text("These models learned next to nothing.\n")
    (folder / "evaluator-table").mkdir()
    scored = [
        {"judged": "zhao2020_dailydialog/test", "id": record["id"], "score": place / 10, "out_of_fold": True}
        for place, record in enumerate(judged("zhao2020_dailydialog", "overall"))
    ]
    lines = "".join(json.dumps(record) + "\n" for record in scored)
    (folder / "evaluator-table" / "default.jsonl").write_text(lines)
    (folder / "roberta-eval" / "tiny").mkdir(parents=True)
    curve = "".join(json.dumps(row) + "\n" for row in roberta_eval_curve())
    (folder / "roberta-eval" / "tiny" / "curve.jsonl").write_text(curve)
    return folder


def roberta_eval_curve() -> list[Record]:
    """What train_roberta_eval records: ranking, repeated after an interruption, then labels and a test."""
    name = "zhao2020_dailydialog"
    watched = {name: {"r": 0.1, "rho": 0.2}, "zhao2020_personachat": {"r": 0.3, "rho": 0.4}}
    ranking = [
        {"stage": "rank", "steps": steps, "minutes": 2.0 * steps, "ranking accuracy": accuracy, **watched}
        for steps, accuracy in ((500, 0.5), (1000, 0.6), (1000, 0.7))
    ]
    run = {"start": "rank-1000", "judged": name, "labels": 33}
    labels = [
        {"stage": "label", **run, "steps": 11 * epoch, "minutes": 1.0 * epoch, "ended": epoch == 3}
        | {"validation": validation, "validation loss": 1 - validation}
        for epoch, validation in enumerate((0.2, 0.4, 0.3), 1)
    ]
    tested = [record for record in judged(name, "overall") if record["split"] == "test"]
    scores = {record["id"]: float(np.mean(record["scores"]["overall"])) for record in tested}
    return [
        *ranking,
        *labels,
        {"stage": "test", **run, "steps": 33, "tested": name, "r": 1, "rho": 1, "scores": scores},
    ]


def dialogues(corpus: str) -> list[Dialogue]:
    """Twenty dialogues of four turns; those of no two corpora are alike."""
    rng = np.random.default_rng(sum(map(ord, corpus)))
    return [
        Dialogue(
            f"{corpus}-{topic}",
            (
                f"what do you think of {topic} {TAILS[int(rng.integers(len(TAILS)))]} in {corpus}",
                f"well i really like {topic} {TAILS[int(rng.integers(len(TAILS)))]}",
                f"why do you like {topic} so much",
                f"because {topic} makes me happy {TAILS[int(rng.integers(len(TAILS)))]}",
            ),
        )
        for topic in TOPICS
    ]


def judged(name: str, dimension: str) -> list[Record]:
    """Four replies per context by as many systems; those that name the topic are rated higher."""
    rng = np.random.default_rng(0)
    records: list[Record] = []
    for context in range(CONTEXTS):
        topic, other = TOPICS[context], TOPICS[(context + 5) % len(TOPICS)]
        reference = f"i like {topic} {TAILS[context % len(TAILS)]}"
        replies = (reference, f"i like {other}", f"{topic} is fine {TAILS[(context + 2) % 5]}", "i do not know")
        for place, (system, reply, level) in enumerate(zip(SYSTEMS, replies, (5, 2, 4, 3), strict=True)):
            number = context * len(SYSTEMS) + place
            records.append(
                {
                    "id": f"{name}-{number}",
                    "context": [f"hello there from {name} number {context}", f"do you like {topic} at {name}"],
                    "response": reply,
                    "references": [reference],
                    "system": system,
                    "scores": {dimension: np.clip(level + rng.integers(-1, 2, RATERS), 1, 5).tolist()},
                    "split": {0: "test", 1: "valid"}.get(number % 5, "train"),
                }
            )
    return records


def renamed(records: Iterable[Record], names: Mapping[str, str]) -> list[Record]:
    """The records with some systems called by other names."""
    return [{**record, "system": names.get(record["system"], record["system"])} for record in records]


def dstc6() -> list[Record]:
    """Twenty systems that answer the same items, those of the paper's Table 3 among them, without contexts."""
    rng = np.random.default_rng(0)
    items = [reply.item for reply in TABLE_3]
    items += list(range(ITEMS - len(items)))
    records: list[Record] = []
    for item in items:
        topic = TOPICS[item % len(TOPICS)]
        references = [f"we are happy to send {topic} {tail} ." for tail in TAILS]
        for place, system in enumerate(TABLE_1_SYSTEMS.rows):
            words = references[(place + item) % len(references)].split()
            reply = " ".join(words[: 2 + (place + item) % len(words)]) if system != "S_20" else "<no_reply>"
            level = 2 if system == "S_20" else 3 + (place + item) % 3
            records.append(
                {
                    "id": f"{system}-{item}",
                    "context_id": str(item),
                    "context": [],
                    "response": reply,
                    "references": references,
                    "system": system,
                    "scores": {"overall": np.clip(level + rng.integers(-1, 2, 10), 1, 5).tolist()},
                }
            )
    return records


def _write(path: Path, records: Iterable[Record]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def tables_of(text: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells, without the rule under the header."""
    found: list[list[list[str]]] = []
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if not line.startswith("|"):
            continue
        if not place or not lines[place - 1].startswith("|"):
            found.append([])
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if set("".join(cells)) - {"-"}:
            found[-1].append(cells)
    return found


def table_with(text: str, head: Sequence[str]) -> list[list[str]]:
    """The rows of the table whose header begins so."""
    (rows,) = [table for table in tables_of(text) if table[0][: len(head)] == list(head)]
    return rows[1:]
