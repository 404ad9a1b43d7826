"""METEOR against numbers that the original program gave.

The numbers are the segment scores that METEOR 1.5 prints for these sentences, which were written for this test:

    java -Dfile.encoding=UTF-8 -jar meteor-1.5.jar replies.txt references.txt -l en -r <references> \\
         -m "exact stem synonym"

with one reply per line, and the references of a reply on consecutive lines; -r is their number. The paraphrase cases
ran without -m but with `-a table.gz`, which holds PARAPHRASES as METEOR's format has it.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meteor_cases import corpus_score, encoded, meteor_scores, meteor_statistics
from rejoinder.errors import DataError
from rejoinder.metrics.meteor import alignment, matching, metric
from rejoinder.metrics.meteor.matching import TASKS, MeteorParameters
from rejoinder.metrics.meteor.metric import Meteor, corpus_statistics, score_from_statistics
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.types import Example

DEFAULT = MeteorParameters()

GOLDEN: list[tuple[str, tuple[str, ...], float]] = [
    ("hello", ("hello",), 1.0),
    ("hello", ("goodbye",), 0.0),
    ("the", ("the",), 1.0),
    ("yes .", ("yes .",), 1.0),
    ("i am fine", ("i am fine",), 1.0),
    ("no no no", ("no no no",), 1.0),
    ("no no", ("no no no",), 0.33520678036654417),
    ("no no no", ("no",), 0.3076923076923077),
    ("i like tea", ("i like coffee",), 0.272954092584186),
    ("i like tea .", ("we liked the tea .",), 0.21589589243946913),
    ("tea i like", ("i like tea",), 0.4467352531109634),
    ("the cat sat on the mat .", ("on the mat sat the cat .",), 0.4635322236052113),
    ("the the the the", ("the cat and the dog",), 0.09696969696969698),
    ("the cat and the dog", ("the dog and the cat",), 0.45827172913153946),
    ("a dog ran after a dog", ("a dog and a dog ran",), 0.45876240259563655),
    ("dogs run", ("the dog runs",), 0.0),
    ("the dog runs", ("dogs run",), 0.0),
    ("my car is fast", ("my automobile is quick",), 0.8800000000000001),
    ("he bought a big house", ("he purchased a large home",), 0.8363636363636364),
    ("children were playing outside", ("a child played outdoors",), 0.2948452670532359),
    ("she went home early", ("she goes to her house soon",), 0.221458501542187),
    ("the geese flew away", ("a goose flies away",), 0.404316949096212),
    ("what a wonderful day !", ("what a marvellous day !",), 0.9454545454545454),
    (
        "do you want to go to the cinema tonight ?",
        ("would you like to go to the movies this evening ?",),
        0.19954868387355634,
    ),
    ("i do n't know what you mean .", ("i 'm not sure what you are talking about .",), 0.10838687330576471),
    ("it 's a nice place , is n't it ?", ("this is a nice spot , do n't you think ?",), 0.2838419542076356),
    ("thank you very much !", ("thanks a lot !",), 0.11483253588516747),
    ("sure , no problem .", ("of course , that is not a problem .",), 0.18013518270603365),
    ("how much does it cost ?", ("what is the price ?",), 0.20174867712744188),
    ("i think , therefore i am .", ("i am , therefore i think .",), 0.4635322236052113),
    (
        "to be or not to be , that is the question .",
        ("not to be or to be : this is the question .",),
        0.42897263619332243,
    ),
    ("row , row , row your boat", ("row your boat , row your boat",), 0.3479189830088444),
    (
        "we will meet again , do n't know where , do n't know when",
        ("do n't know when , do n't know where we meet",),
        0.4961189089216982,
    ),
    ("that that is is that that is not is not", ("that is that that is not that that is is not",), 0.44024853642610645),
    ("buffalo buffalo buffalo", ("buffalo buffaloes buffalo buffalo buffalo",), 0.33086493379395415),
    ("likes liked liking like", ("like like like",), 0.3620257582465064),
    ("he likes his likes", ("he like his like",), 0.6999999999999998),
    ("runs running ran runner", ("run runs ran running",), 0.30000000000000004),
    ("quick rapid fast", ("fast speedy quick rapid",), 0.34810539203451696),
    ("place put set position", ("set place position put lay",), 0.3298969072164949),
    ("organize the organization", ("the organizing organ",), 0.19106786480893023),
    ("universities are universal", ("a university in the universe",), 0.0),
    ("added in the evening", ("adding even more",), 0.0),
    ("comics", ("comic",), 0.0),
    ("lying is dying", ("lie and die",), 0.0),
    ("... ?! ...", ("... ! ? ...",), 0.24365482233502536),
    ('( yes ) " no "', ('" yes " ( no )',), 0.4),
    ("?", ("!",), 0.0),
    ("'s", ("'s",), 1.0),
    ("$ 100 - 200", ("100 $ to 200 $",), 0.3163841807909605),
    ("你好 , 世界", ("你好 世界 !",), 0.27586206896551724),
    ("привет как дела", ("привет , как твои дела ?",), 0.27169811320754716),
    ("नमस्ते दुनिया", ("नमस्ते",), 0.3478260869565218),
    ("😀 😀 great", ("great 😀",), 0.37209302325581395),
    ("naïve café", ("café naïve",), 0.4),
    ("", ("hello there",), 0.0),
    ("hello there", ("",), 0.0),
    ("", ("",), 0.0),
    ("i would love some coffee", ("no , thank you .", "i 'd love a coffee ."), 0.24242424242424243),
    ("see you tomorrow", ("good night", "see you", "see you tomorrow"), 1.0),
    ("maybe later", ("not now", "perhaps later", "later maybe"), 0.8999999999999999),
    ("a b", ("a x", "x a"), 0.1),
    ("good morning", ("", "good evening", "morning"), 0.3478260869565218),
    (
        "the weather is nice today , is n't it ?",
        ("it is a beautiful day", "yes , the weather is lovely today", "nice weather , is n't it ?"),
        0.46660779179752304,
    ),
    (
        "well , well , well , what do we have here ?",
        ("what have we here , well well ?", "well , what is it that we have here ?"),
        0.3857075280106759,
    ),
    (
        "i have a dog , a cat , a bird , a fish and a horse .",
        ("a horse , a fish , a bird , a cat and a dog is what i have .",),
        0.45529774277506746,
    ),
    (
        "he said that she said that he said it",
        ("she said he said it and that he said that she said so",),
        0.3555219191731575,
    ),
]

# `Final score` of the cases with one reference, as one corpus in this order.
GOLDEN_CORPUS = 0.3207314764294949

PARAPHRASES = [
    ("thank you very much", "thanks a lot"), ("thanks a lot", "thank you very much"), ("thank you", "thanks"),
    ("would you like", "do you want"), ("the cinema", "the movies"), ("cinema", "movies"),
    ("tonight", "this evening"), ("this evening", "tonight"), ("do n't know", "'m not sure"), ("of course", "sure"),
    ("sure", "of course"), ("no problem", "not a problem"), ("a lot", "much"), ("much", "very much"),
    ("what is the price", "how much does it cost"), ("how much", "what"), ("runs", "running"),
    ("the dog", "a dog"), ("to go", "go"), ("see you", "goodbye"),
]  # fmt: skip

GOLDEN_PARAPHRASES = [
    ("thank you very much !", "thanks a lot !", 0.7157057654075546),
    ("thanks a lot !", "thank you very much !", 0.6963249516441005),
    (
        "do you want to go to the cinema tonight ?",
        "would you like to go to the movies this evening ?",
        0.7462538172004829,
    ),
    (
        "would you like to go to the movies this evening ?",
        "do you want to go to the cinema tonight ?",
        0.7410959870230622,
    ),
    ("i do n't know .", "i 'm not sure .", 0.6864153201675642),
    ("sure , no problem .", "of course , that is not a problem .", 0.30295707373075625),
    ("how much does it cost ?", "what is the price ?", 0.6526926797807159),
    ("what is the price ?", "how much does it cost ?", 0.6326977180368863),
    ("thanks very much , thanks a lot", "thank you very much , thank you", 0.4395692470977397),
    ("the dog runs to the dog", "a dog running to a dog", 0.6333333333333333),
    ("goodbye", "see you", 0.6),
    ("see you", "goodbye", 0.6),
    ("sure sure of course", "of course of course sure", 0.42040624738839844),
]
GOLDEN_PARAPHRASE_CORPUS = 0.4534333808122523

# What -ssOut prints for the pair.
GOLDEN_STATISTICS = [
    (
        "it 's a nice place , is n't it ?",
        "this is a nice spot , do n't you think ?",
        [10, 11, 7, 6, 2, 2, 4, 4, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 4, 7, 7],
    ),
    (
        "sure , no problem .",
        "of course , that is not a problem .",
        [5, 9, 3, 7, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 3],
    ),
]


def score(reply: str, *references: str, parameters: MeteorParameters = DEFAULT) -> float:
    return float(meteor_scores(encoded([(reply, references)]), parameters)[0])


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("meteor") / "table.gz"
    text = "".join(f"0.5\n{phrase}\n{paraphrase}\n" for phrase, paraphrase in PARAPHRASES)
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize(("reply", "references", "expected"), GOLDEN)
def test_a_pair_scores_what_the_original_gives(reply: str, references: tuple[str, ...], expected: float) -> None:
    assert score(reply, *references) == pytest.approx(expected, abs=1e-12)


def test_a_batch_scores_what_its_pairs_score() -> None:
    scores = meteor_scores(encoded([case[:2] for case in GOLDEN]), DEFAULT)
    assert scores == pytest.approx([expected for _, _, expected in GOLDEN], abs=1e-12)


def test_small_parts_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(matching, "_PAIRS_AT_ONCE", 10)
    monkeypatch.setattr(alignment, "_STEPS_AT_ONCE", 100)
    test_a_batch_scores_what_its_pairs_score()


def test_the_corpus_scores_what_the_original_gives() -> None:
    statistics = meteor_statistics(encoded([case[:2] for case in GOLDEN if len(case[1]) == 1]), DEFAULT)
    assert corpus_score(statistics, DEFAULT) == pytest.approx(GOLDEN_CORPUS, abs=1e-12)
    halves = corpus_statistics(statistics[:20]) + corpus_statistics(statistics[20:])
    assert score_from_statistics(halves[np.newaxis], DEFAULT)[0] == pytest.approx(GOLDEN_CORPUS, abs=1e-12)


@pytest.mark.parametrize(("reply", "reference", "expected"), GOLDEN_STATISTICS)
def test_statistics_are_those_of_the_original(reply: str, reference: str, expected: list[int]) -> None:
    assert meteor_statistics(encoded([(reply, [reference])]), DEFAULT)[0].tolist() == expected


def test_paraphrases_match_as_in_the_original(table_file: Path, tmp_path: Path) -> None:
    cases = encoded([(reply, [reference]) for reply, reference, _ in GOLDEN_PARAPHRASES])
    table = ParaphraseTable.read(table_file)
    statistics = meteor_statistics(cases, DEFAULT, table)
    expected = [number for _, _, number in GOLDEN_PARAPHRASES]
    assert score_from_statistics(statistics, DEFAULT) == pytest.approx(expected, abs=1e-12)
    assert corpus_score(statistics, DEFAULT) == pytest.approx(GOLDEN_PARAPHRASE_CORPUS, abs=1e-12)

    table.save(tmp_path / "table.npz")
    again = ParaphraseTable.read(tmp_path / "table.npz")
    assert meteor_statistics(cases, DEFAULT, again).tolist() == statistics.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["table.npz"]


def test_a_table_without_a_word_of_the_text_changes_nothing(table_file: Path) -> None:
    cases = encoded([("wholly other text", ["text wholly other"]), ("", ["x"]), ("x", [""])])
    table = ParaphraseTable.read(table_file)
    assert meteor_scores(cases, DEFAULT, table).tolist() == meteor_scores(cases, DEFAULT).tolist()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty"),
        ("0.5\nhello\n", "fewer than three lines"),
        ("hello\n0.5\nhi\n", "a line with a number"),
        ("0.5\nhello\n\n0.5\nhi\nyo\n", "a line with a number"),
    ],
)
def test_a_broken_table_is_named(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.gz"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataError, match=rf"broken\.gz: not a paraphrase table: .*{problem}"):
        ParaphraseTable.read(path)


def test_a_file_that_is_cut_off_or_not_compressed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.gz"
    for content in (b"0.5\nhello\nhi\n", gzip.compress(b"0.5\nhello\nhi\n")[:-9]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"broken\.gz: not a paraphrase table"):
            ParaphraseTable.read(path)


def test_a_missing_or_foreign_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.gz: no such file"):
        ParaphraseTable.read(tmp_path / "none.gz")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(DataError, match=r"other\.npz: not a paraphrase table"):
        ParaphraseTable.read(tmp_path / "other.npz")


def _write(path: Path, stored: dict[str, Any]) -> None:
    arrays: dict[str, Any] = {name: np.array(values) for name, values in stored.items()}
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    "wrong", [{"paraphrases": [2, 7]}, {"keys": [0, 9]}, {"counts": [3, -1, 0]}, {"counts": [1, 1]}]
)
def test_a_converted_table_with_numbers_that_do_not_fit_is_named(wrong: dict[str, list[int]], tmp_path: Path) -> None:
    words = np.frombuffer(b"hello\nhi", np.uint8)
    stored: dict[str, Any] = {"words": words, "keys": [0, 1], "counts": [0, 1, 1], "paraphrases": [2, 1]}
    _write(tmp_path / "table.npz", stored)
    assert len(ParaphraseTable.read(tmp_path / "table.npz").words) == 2
    _write(tmp_path / "table.npz", stored | wrong)
    with pytest.raises(DataError, match=r"table\.npz: not a paraphrase table: .* do not fit"):
        ParaphraseTable.read(tmp_path / "table.npz")


@pytest.mark.parametrize("text", ["a", "the", "?", "no no", "i i i", "is it it is", "你好", "😀 😀"])
def test_identical_text_scores_one(text: str) -> None:
    assert score(text, text) == 1.0


def test_long_identical_text_scores_one() -> None:
    assert score("to be or not to be " * 30, "to be or not to be " * 30) == 1.0


def test_without_references_there_is_no_score() -> None:
    scores = meteor_scores(encoded([("hello", []), ("hello", ["hello"]), ("", [])]), DEFAULT)
    assert np.isnan(scores).tolist() == [True, False, True]
    assert scores[1] == 1.0
    assert np.isnan(Meteor().corpus_score([Example("1", (), "hello", ())]))


def test_nothing_at_all_has_no_scores() -> None:
    assert meteor_scores(encoded([]), DEFAULT).shape == (0,)


def test_the_references_may_come_in_any_order() -> None:
    vocabulary, replies, references, owner = encoded([case[:2] for case in GOLDEN])
    shuffled = np.random.default_rng(5).permutation(len(owner))
    scores = meteor_scores((vocabulary, replies, references.take(shuffled), owner[shuffled]), DEFAULT)
    assert scores == pytest.approx([expected for _, _, expected in GOLDEN], abs=1e-12)


def test_of_equally_good_references_the_first_counts() -> None:
    statistics = meteor_statistics(encoded([("a b", ["a x", "x a", "c"])]), DEFAULT)
    only_first = meteor_statistics(encoded([("a b", ["a x"])]), DEFAULT)
    assert statistics.tolist() == only_first.tolist()


def test_modules_can_be_left_out() -> None:
    assert score("my car is fast", "my automobile is quick") > 0.8
    without = MeteorParameters(use_synonyms=False)
    assert score("my car is fast", "my automobile is quick", parameters=without) < 0.3
    only_exact = MeteorParameters(use_synonyms=False, use_stems=False)
    assert score("organizing", "organize", parameters=without) > 0
    assert score("organizing", "organize", parameters=only_exact) == 0


def test_words_outside_the_vocabulary_of_the_batch_do_not_matter() -> None:
    vocabulary, replies, references, owner = encoded([("i like tea", ["i like coffee"])])
    scores = meteor_scores(([*vocabulary, "unused"], replies, references, owner), DEFAULT)
    assert scores[0] == pytest.approx(0.272954092584186, abs=1e-12)


# -t <task> -a table.gz for this pair, in which nothing of the table occurs.
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("rank", 0.46157411965319134),
        ("adq", 0.7070754652918793),
        ("hter", 0.6863362973633437),
        ("li", 0.6117418054838213),
    ],
)
def test_tasks_have_the_parameters_of_the_original(task: str, expected: float) -> None:
    assert score("my cars are fast , i think", "i think my automobile is quick", parameters=TASKS[task]) == (
        pytest.approx(expected, abs=1e-12)
    )


@pytest.mark.parametrize("wrong", [{"alpha": 1.5}, {"delta": -0.1}, {"beam": 0}, {"beta": -1.0}, {"stem": 2.0}])
def test_a_parameter_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MeteorParameters(**wrong)  # type: ignore[arg-type]
