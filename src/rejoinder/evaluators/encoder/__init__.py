"""The evaluator of Zhao et al. 2020 over any pretrained encoder: docs/reference/encoder-evaluator.md.

In reading order:

reading      A context and a reply as the token ids that an encoder reads, in one sequence or in branches
model        the interface of a trained model, in PyTorch or ONNX, and the presets of its parameters
encoder      the evaluator
networks     the networks: the cross-encoder of Zhao et al. 2020, and one that reads a context once for all its
             replies
torch_model  A model in torch, which can be trained: network, tokeniser and settings, towers for ranking, longer
             positions
onnx         a model in ONNX Runtime, without torch
onnx_export  A trained model for ONNX Runtime, in full precision, in int8, or both
replay       replies from dialogues with the scores that the model gives them, trained on so that it keeps what it
             knows
stages       the stages of training: ranking true replies above others, ratings, and scores of a teacher
training     the model to start from, and the stages in order
"""
