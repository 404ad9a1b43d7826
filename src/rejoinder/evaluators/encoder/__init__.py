"""A pretrained encoder under a scoring head (Zhao et al. 2020), in torch and in ONNX Runtime."""
