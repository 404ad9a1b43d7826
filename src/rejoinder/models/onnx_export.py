"""A trained model for ONNX Runtime, at full precision or with weights of one byte."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from rejoinder.errors import MissingExtraError
from rejoinder.models.onnx_model import OnnxModel
from rejoinder.models.pairs import Encoded
from rejoinder.models.torch_model import TorchModel


def to_onnx(model: TorchModel) -> OnnxModel:
    """The same model at full precision."""
    # Two rows of different length: a size that is 1 while tracing would be taken for a constant.
    sample = [Encoded((1,) * 6, (0,) * 6), Encoded((1,) * 4, (0,) * 4)]
    inputs = {name: tensor.cpu() for name, tensor in model.tensors(sample).items()}
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    network = model.network.cpu().eval()
    with tempfile.TemporaryDirectory(prefix="rejoinder-") as folder, _quiet():
        path = Path(folder, "model.onnx")
        try:
            torch.onnx.export(
                network,
                kwargs=inputs,
                f=path,
                input_names=list(inputs),
                output_names=["score"],
                dynamic_shapes=dict.fromkeys(inputs, free),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        except ImportError as error:
            raise MissingExtraError("exporting to ONNX", "train") from error
        return OnnxModel("fp32", model.settings, model.tokeniser, path.read_bytes())


def to_int8(model: OnnxModel) -> OnnxModel:
    """A full-precision model with weights of one byte, and activations too while matrices are multiplied."""
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError("weights of one byte", "train") from error
    with tempfile.TemporaryDirectory(prefix="rejoinder-") as folder, _quiet():
        full, small = Path(folder, "full.onnx"), Path(folder, "small.onnx")
        graph = onnx.load_from_string(model.weights)
        # The exporter notes shapes as they were before it transposed weights; the quantiser infers them anew.
        del graph.graph.value_info[:]
        onnx.save(graph, full)
        quantize_dynamic(
            full,
            small,
            op_types_to_quantize=["MatMul", "Gemm", "Gather"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        return OnnxModel("int8", model.settings, model.tokeniser, small.read_bytes())


@contextmanager
def _quiet() -> Iterator[None]:
    """No remarks of the exporters: they are about their own insides."""
    names = ("torch.onnx", "onnxscript", "onnx_ir", "root")
    loggers = [logging.getLogger(None if name == "root" else name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
