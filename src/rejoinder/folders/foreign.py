"""The only module that opens files with the loaders of other libraries (tests/loading/test_one_loader.py checks this).

Nothing that is loaded here can run code: arrays have no objects, weights are safetensors, ONNX or GGUF, never pickles,
and a module that lies in a folder is not imported. Nothing is asked on standard input, and nothing is downloaded: what
is loaded lies in a local folder (`sources.py` finds it).
"""

from __future__ import annotations

import io
import json
import logging
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import CallError, DataError, shortened
from rejoinder.folders.onnx_file import check_onnx
from rejoinder.folders.schema import parsed_json, plain_name, read_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor, nn

_DATA_ONLY = {"trust_remote_code": False, "local_files_only": True}
"""Options of every `from_pretrained`."""
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
_ATTENTION = (None, "eager", "sdpa")
"""Any other implementation of attention may be fetched from the hub as compiled code."""
_CODE_KEYS = ("auto_map", "custom_pipelines", "quantization_config", "kernel_config", "use_kernels")
_FEWEST_NUMBERS = 1 << 20
_REPEATED = re.compile(r"(layers?|experts|depths?|hidden_groups|stages)$")
"""Settings of an architecture that say how many modules it has, by the ends of their names."""
_MOST_REPEATED = 1000
"""Building more takes minutes, even if each is tiny; the deepest published models have fewer than 200 layers."""
_LONGEST_REASON = 300
_SAMPLES = ("a", "A b. 7!", "\u2603 \U0001f600\n")


def mapped_array(path: Path) -> NDArray[Any]:
    """The array of a .npy file, mapped into memory."""
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def array_archive(file: IO[bytes]) -> Any:
    """The arrays of a .npz file, read one by one."""
    return np.load(file, allow_pickle=False)


def saved_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The named arrays of a safetensors file."""
    from safetensors.numpy import load_file

    arrays: dict[str, NDArray[Any]] = _read_safetensors(load_file, path)
    return arrays


def saved_tensors(path: Path) -> dict[str, Tensor]:
    """The named tensors of a safetensors file."""
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = _read_safetensors(load_file, path)
    return tensors


def _read_safetensors(load_file: Callable[[Path], Any], path: Path) -> Any:
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise DataError("is missing: expected arrays that were saved", file=str(path)) from error
    except Exception as error:  # SafetensorError, but also KeyError for a type of numbers that numpy does not have
        raise DataError(f"cannot be read ({first_line(error)})", file=str(path)) from error


def onnx_session(weights: bytes, options: Any, file: str) -> Any:
    """ONNX Runtime's session of a model that keeps its weights in its own file."""
    import onnxruntime  # type: ignore[import-untyped]

    check_onnx(weights, file)
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors share no class of their own
        raise DataError(f"is not an ONNX model ({first_line(error)})", file=file) from error


def faiss_graph(serialized: NDArray[np.uint8], vectors: NDArray[np.float32], file: str) -> Any:
    """The HNSW index of faiss over these vectors that an array of bytes holds.

    The bytes are read field by field before faiss sees them: other kinds of index name files, which faiss would open,
    and it follows links to rows that do not exist.
    """
    import faiss

    try:
        _check_graph(serialized.tobytes(), vectors)
    except (ValueError, struct.error) as error:
        problem = f"is not a graph over {len(vectors)} vectors ({error})"
        raise DataError(problem, file=file, field="graph") from None
    try:
        return faiss.deserialize_index(serialized)
    except Exception as error:  # RuntimeError, AssertionError
        raise DataError(f"is not an index ({first_line(error)})", file=file) from error


def _check_graph(content: bytes, vectors: NDArray[np.float32]) -> None:
    """ValueError or struct.error unless the bytes are faiss's IndexHNSWFlat with inner products over these vectors.

    The order of fields is that of faiss (impl/index_write.cpp, `write_HNSW`), the same in all versions since 1.5.
    """
    rows, width = vectors.shape
    at = 0

    def take(layout: str) -> tuple[Any, ...]:
        nonlocal at
        found = struct.unpack_from(f"<{layout}", content, at)
        at += struct.calcsize(f"<{layout}")
        return found

    def take_array(kind: str) -> NDArray[Any]:
        nonlocal at
        [length] = take("Q")
        size = length * np.dtype(kind).itemsize
        if size > len(content) - at:
            raise ValueError("it is cut off")
        at += size
        return np.frombuffer(content, kind, length, at - size)

    def expect(name: bytes) -> None:
        """The name of a kind of index, and what all of them have: width, rows, two unused, trained, kind of product."""
        found, *sizes, _, _, trained, product = take("4siqqq?i")
        if (found, sizes, trained, product) != (name, [width, rows], True, 0):
            raise ValueError(f"expected {name.decode()} with {rows} rows of {width} numbers")

    expect(b"IHNf")
    take_array("<f8")  # the probabilities of levels, for rows that are added
    ends, levels, offsets, links = (take_array(kind) for kind in ("<i4", "<i4", "<u8", "<i4"))
    entry, highest, *_ = take("5i")
    # `ends[level]` to `ends[level + 1]` are a row's links on this level; `offsets` is where each row's links begin.
    if len(levels) != rows or len(ends) < 2 or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise ValueError("its levels do not fit")
    if not (levels.min() >= 1 and levels.max() < len(ends) and len(offsets) == rows + 1 and offsets[0] == 0):
        raise ValueError("its levels do not fit")
    if not np.array_equal(offsets[1:], np.cumsum(ends[levels], dtype=np.uint64)) or offsets[-1] != len(links):
        raise ValueError("its offsets do not fit")
    if len(links) and not (links.min() >= -1 and links.max() < rows):
        raise ValueError("it links to a row that does not exist")
    if not (0 <= entry < rows and levels[entry] == highest + 1 == levels.max()):
        raise ValueError("its entry does not fit")
    for level in range(1, highest + 1):
        here = offsets[:-1][levels > level].astype(np.int64)
        linked = links[here[:, None] + np.arange(ends[level], ends[level + 1])]
        if (levels[linked[linked >= 0]] <= level).any():
            raise ValueError("it links to a row on a level that the row does not have")
    expect(b"IxFI")
    take("Q")  # the numbers of the vectors
    if content[at:] != np.ascontiguousarray(vectors, "<f4").tobytes():
        raise ValueError("its vectors are not those of the folder")


def tokeniser_of(definition: str, file: str, most: int | None = None) -> Tokenizer:
    """The tokeniser of a tokenizer.json, which neither pads nor cuts; its ids must be below `most`."""
    from tokenizers import Tokenizer

    try:
        made = Tokenizer.from_str(definition)
        made.no_padding()
        made.no_truncation()
        for text in _SAMPLES:  # some mistakes show when a text is read
            read = made.encode(text, add_special_tokens=False)
            made.post_process(read, made.encode("b", add_special_tokens=False), add_special_tokens=True)
            made.decode(read.ids)
    except BaseException as error:
        if not is_failure(error):
            raise
        raise DataError(f"is not a tokeniser's definition ({first_line(error)})", file=file) from error
    if most is not None and max(made.get_vocab(with_added_tokens=True).values(), default=0) >= most:
        raise DataError(f"has more tokens than the model, which has {most}", file=file)
    return made


def is_failure(error: BaseException) -> bool:
    """Whether a library failed; a panic in a library written in Rust is no `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def transformer(auto: str, source: Path, what: str) -> tuple[Any, Any]:
    """A model of transformers in full precision and its tokeniser, from a folder or GGUF file.

    `auto` is the class that opens it, AutoModel or AutoModelForCausalLM, and `what` the word for it in messages.
    """
    import torch
    import transformers

    folder, options = checked_source(source, what)
    try:
        with quiet_transformers(), redirect_stderr(io.StringIO()):  # unpacking GGUF shows a progress bar
            network = getattr(transformers, auto).from_pretrained(
                folder, dtype=torch.float32, use_safetensors=True, **options, **_DATA_ONLY
            )
            tokeniser = transformers.AutoTokenizer.from_pretrained(folder, use_fast=True, **options, **_DATA_ONLY)
    except BaseException as error:  # on a damaged file the libraries raise anything, struct.error for one
        if not is_failure(error):
            raise
        raise CallError(f"the {what} {source} cannot be loaded ({_why_not(error)})") from error
    if not getattr(tokeniser, "is_fast", False):
        raise CallError(f"the {what} {source} has no fast tokeniser: expected tokenizer.json")
    for name, weights in network.named_parameters():
        check_finite_weights(name, weights, str(_weights_file(source)))
    return network, tokeniser


def _weights_file(source: Path) -> Path:
    """The file with the weights of a model of transformers; its folder where there are several."""
    files = [*source.glob("*.safetensors"), *source.glob("*.gguf")]
    return files[0] if len(files) == 1 else source


def check_finite_weights(name: str, weights: Tensor, file: str) -> None:
    """DataError if weights that were read from a file are not all finite."""
    import torch

    if weights.is_floating_point() and not torch.isfinite(weights).all():
        raise DataError("holds numbers that are not finite", file=file, field=name)


def _why_not(error: BaseException) -> str:
    if "trust_remote_code" in str(error):
        return "it needs code of its own, and code from a model folder is never run"
    return first_line(error)


def checked_source(source: Path, what: str = "model") -> tuple[str, dict[str, str]]:
    """The folder for transformers, and the GGUF file in it if there is one; an error for what could run code."""
    if source.suffix == ".gguf":
        return str(source.parent), {"gguf_file": source.name}
    config = source / "config.json"
    if source.is_dir() and not config.is_file():
        files = sorted(source.glob("*.gguf"))
        if len(files) == 1:
            return str(source), {"gguf_file": files[0].name}
        if files:
            raise CallError(f"{source} contains {len(files)} GGUF files: expected the path of one of them")
    if not config.is_file():
        raise CallError(f"the {what} {source} cannot be loaded (expected config.json, or a GGUF file, in it)")
    settings = read_json(config)
    refuse_code(settings, str(config), ignored=("auto_map", "custom_pipelines"))
    _refuse_many_modules(settings, str(config))
    if (source / "adapter_config.json").exists():
        raise DataError("names another model: expected a whole model, not an adapter", file=str(source))
    if not any(source.glob("*.safetensors")):
        pickled = sorted(path.name for path in source.iterdir() if path.suffix in _PICKLES)
        found = f"{pickled[0]} is a pickle, which can run code" if pickled else "there is none"
        raise CallError(f"the {what} {source} cannot be loaded: expected weights in model.safetensors ({found})")
    for index in source.glob("*.safetensors.index.json"):
        for name in dict(read_json(index).get("weight_map", {})).values():
            plain_name(name, str(index), "weight_map")
    return str(source), {}


def shaped(auto: str, definition: str, file: str, most: int) -> Callable[[], nn.Module]:
    """What makes a network of transformers with this architecture and random weights, in full precision.

    `file` is where the architecture was read; no number in it may exceed `most`, so that nothing huge is built.
    """
    import transformers

    shape = parsed_json(definition, file)
    refuse_code(shape, file)
    _refuse_huge(shape, file, max(most, _FEWEST_NUMBERS))
    _refuse_many_modules(shape, file)

    def make() -> nn.Module:
        try:
            with quiet_transformers():
                config = transformers.AutoConfig.for_model(**shape)
                network: nn.Module = getattr(transformers, auto).from_config(config, trust_remote_code=False)
        except Exception as error:  # the library checks some values and trips over others
            reason = shortened(" ".join(str(error).split()), _LONGEST_REASON)
            raise DataError(f"does not describe a network ({reason})", file=file) from error
        return network.float()

    return make


def refuse_code(config: Mapping[str, Any], file: str, *, ignored: tuple[str, ...] = ()) -> None:
    """DataError if a model's configuration names code: its own, or kernels of the hub."""
    for key, value in _items(config):
        if key in _CODE_KEYS and key not in ignored and value:
            raise DataError("names code, which a model folder must not: expected none", file=file, field=key)
        names = value.values() if isinstance(value, dict) else (value,)
        if key.strip("_").removesuffix("_internal") == "attn_implementation" and any(
            name not in _ATTENTION for name in names
        ):
            raise DataError(f"must be eager or sdpa, not {shortened(value)}", file=file, field=key)


def _refuse_huge(shape: Mapping[str, Any], file: str, most: int) -> None:
    for key, value in _items(shape):
        if isinstance(value, int) and abs(value) > most:
            raise DataError(f"is too large: {shortened(value)}", file=file, field=key)


def _refuse_many_modules(shape: Mapping[str, Any], file: str) -> None:
    """DataError if a network would have so many layers that building it would seem to hang."""
    for key, value in _items(shape):
        counts = value if isinstance(value, list) else [value]
        if _REPEATED.search(key) and any(isinstance(count, int) and count > _MOST_REPEATED for count in counts):
            raise DataError(f"must be at most {_MOST_REPEATED}, not {shortened(value)}", file=file, field=key)


def _items(config: object) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth."""
    if isinstance(config, dict):
        for key, value in config.items():
            yield key, value
            yield from _items(value)
    elif isinstance(config, list):
        for value in config:
            yield from _items(value)


def embedded_tokens(network: nn.Module) -> int:
    """How many tokens a network of transformers has embeddings for."""
    return len(network.get_input_embeddings().weight)  # type: ignore[operator]


def definition_of(network: nn.Module) -> str:
    """The architecture of a network of transformers, as `shaped` reads it."""
    config: Any = network.config
    shape = json.loads(config.to_json_string(use_diff=False))
    for key in ("_name_or_path", *_CODE_KEYS):
        shape.pop(key, None)
    return json.dumps(shape, indent=2) + "\n"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its class where there is none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers and huggingface_hub while weights are loaded: missing poolers, progress bars, retries."""
    from huggingface_hub.utils import logging as hub_noise
    from transformers.utils import logging as noise

    before, bars = noise.get_verbosity(), noise.is_progress_bar_enabled()
    hub_before = hub_noise.get_verbosity()
    noise.set_verbosity(logging.CRITICAL)
    hub_noise.set_verbosity(logging.CRITICAL)
    noise.disable_progress_bar()
    try:
        yield
    finally:
        noise.set_verbosity(before)
        hub_noise.set_verbosity(hub_before)
        if bars:
            noise.enable_progress_bar()
