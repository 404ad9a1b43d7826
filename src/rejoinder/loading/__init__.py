"""Opening model folders and the files of other libraries: a model folder is data, never code (SECURITY.md).

foreign    the only module that calls the loaders of other libraries
onnx_file  checks of an ONNX file before ONNX Runtime sees it
inside     names of files that must lie within a folder
schema     JSON of a folder, checked against the fields of dataclasses; array_schema: its arrays
sources    where a pretrained model is: a folder, the Hugging Face cache, the hub
"""
