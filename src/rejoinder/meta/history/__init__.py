"""Releases of a chatbot: their scores in a folder, each compared with the one before (docs/guide/in-ci.md).

release    the scores of one release, made from replies or read from its file
folder     the folder of releases: in order, adding one
joining    two releases as one table, and their comparison
history    the means of all releases with the changes between them, as text and JSON
"""
