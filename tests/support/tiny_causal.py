"""A causal language model of a few thousand random weights, over bytes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp


@cache
def tiny_causal() -> str:
    """The folder of one that `transformers` loads."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    home = Path(mkdtemp(prefix="rejoinder-"), "causal")
    alphabet = ["<start>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokeniser = Tokenizer(models.BPE({token: number for number, token in enumerate(alphabet)}, []))
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.decoder = decoders.ByteLevel()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokeniser, bos_token="<start>")
    wrapped.save_pretrained(home)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(alphabet),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(home)
    return str(home)
