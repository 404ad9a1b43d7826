"""What is read from disk and written to it safely: model folders, foreign files, outputs.

In reading order:

schema        JSON from outside, and the schema of a model folder's files; config.json, and names that must lie within
              a folder
array_schema  the schema of a model folder's arrays
saved         a model folder, written whole or not at all
foreign       the only module that opens files with loaders of other libraries
onnx_file     checks of an ONNX file
sources       where pretrained models are, on disk or on the hub, and which optional packages are installed
outputs       outputs: which files a run writes, one run at a time, written beside and moved into place, and what was
              left unfinished
"""
