"""File formats beyond lines of text.

In reading order:

opening      opening a file, compressed or not; errors in plain words
documents    JSON that is not one object per line: an array, or an object over several lines
workbooks    .xlsx files, read and written
folders      the files of a folder, of a pattern or of a list
"""
