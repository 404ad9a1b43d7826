"""AM-FM on DSTC6 (D'Haro et al. 2019).

In reading order:

folds       the judged replies in folds of items
columns     scores of AM and FM, one column per model
dimensions  AM with an increasing number of dimensions
measures    agreement with people over systems
figures     the figures of the page
page        the page `am-fm-dstc6`
table_1     the page `am-fm-table1`
"""
