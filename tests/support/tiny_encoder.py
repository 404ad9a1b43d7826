"""A pretrained encoder of a few thousand random weights, and dialogues small enough to be learned by heart."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_lowercase, digits, punctuation

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from rejoinder.folders.foreign import quiet_transformers
from rejoinder.types import Dialogue, Example, JudgedExample

TOPICS = (
    "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships bees salt kites plums"
).split()

# Neither many threads nor many cores help matrices of 32 columns.
torch.set_num_threads(1)


def dialogues() -> list[Dialogue]:
    """20 dialogues of four turns, each about a thing of its own."""
    return [
        Dialogue(
            topic,
            (
                f"tell me about {topic}",
                f"well {topic} is what i like",
                f"why do you like {topic} so much",
                f"because {topic} makes me happy all day",
            ),
        )
        for topic in TOPICS
    ]


def judged() -> list[JudgedExample]:
    """20 replies; people gave 5 to those that name the thing, 2 to those that do not."""
    items = []
    for place, topic in enumerate(TOPICS):
        fits = place % 2 == 0
        response = f"i like {topic if fits else TOPICS[place - 1]} so much"
        example = Example(topic, (f"tell me about {topic}",), response)
        items.append(JudgedExample(example, {"overall": (5.0,) if fits else (2.0,)}))
    return items


def tokeniser() -> Tokenizer:
    """The words of the dialogues and all letters, with BERT's special tokens. Written out: a trainer of word pieces
    breaks ties by chance, and what tests learn would differ from run to run."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = {word for dialogue in dialogues() for turn in dialogue.turns for word in turn.split()}
    letters = [*ascii_lowercase, *digits, *punctuation]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *sorted(words - {*letters})]
    numbered = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made


def write_encoder(folder: Path, *, token_types: int = 2, positions: int = 64, layers: int = 2) -> Path:
    """A folder as Hugging Face lays it out: BERT, layers of 32."""
    made = tokeniser()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=made.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=positions,
        type_vocab_size=token_types,
        pad_token_id=0,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    folder.mkdir(parents=True)
    with quiet_transformers():
        BertModel(config).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
