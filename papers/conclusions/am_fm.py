"""What D'Haro et al. 2019 conclude, and what holds of it."""

from __future__ import annotations

from papers.conclusions.record import Conclusion

CONCLUSIONS = (
    Conclusion(
        "AM-FM agrees with people over the systems better than any other metric",
        "the same correlation (0.892), but most of it is due to one system that lies far from all others: without "
        "it 0.484, and CIDEr 0.466 (am-fm-table1)",
        "in part",
        "am-fm-dstc6",
        ("Table 1",),
    ),
    Conclusion(
        "word overlap has low or negative correlation over the systems",
        "the same figures for BLEU-4, ROUGE-L and CIDEr; without the one system all three are positive",
        "in part",
        "am-fm-table1",
        ("Table 1",),
    ),
    Conclusion(
        "of the other metrics, the embedding average agrees best",
        "not with our word vectors: 0.433, greedy matching 0.695, if replies without a known word count as 0, and "
        "negative for both otherwise",
        "no",
        "am-fm-table1",
        ("Table 1",),
    ),
    Conclusion(
        "AM is best with 10 dimensions, and worse with more",
        "from 0.867 with 10 to 0.213 with 2,500; without the one system from 0.307 to 0.041",
        "yes",
        "am-fm-dstc6",
        ("Figure 1",),
    ),
    Conclusion(
        "bigrams are the best order for FM",
        "they are the worst: 0.652, unigrams 0.815, trigrams 0.698; by rank correlation the orders hardly differ",
        "no",
        "am-fm-dstc6",
        ("Table 2",),
    ),
    Conclusion(
        "a weight of .8 for AM is best, and better than AM or FM alone",
        "0.892, AM alone 0.867 and FM alone 0.652; .9 is slightly better (0.907), and with training text of "
        "another domain FM alone is best",
        "in part",
        "am-fm-dstc6",
        ("Figure 2",),
    ),
    Conclusion(
        "reply by reply, it follows people more closely than the embedding average for all three systems",
        "for the median system alone (0.467 and 0.427); not for the best, S_17 (0.330 and 0.356), the worst, S_20 "
        "(0.701 and 0.810), or all systems together (0.427 and 0.449)",
        "no",
        "am-fm-dstc6",
        ("Figure 3",),
    ),
    Conclusion(
        "people agree less on the replies of good systems than on those of the worst",
        "two halves of the raters agree at 0.620 for the best system, 0.684 for the median, 0.795 for the worst",
        "yes",
        "am-fm-dstc6",
        ("Figure 3",),
    ),
    Conclusion(
        "its score fits what people say of some replies, and contradicts it for others",
        "as in the paper, two replies that people dislike are scored high (0.864 and 0.826); of the other three, two "
        "are scored as people do (0.821 and 0.897), and the second, which people dislike, is not scored low (0.608)",
        "in part",
        "am-fm-dstc6",
        ("Table 3",),
    ),
)
