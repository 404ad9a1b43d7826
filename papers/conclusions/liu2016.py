"""What Liu et al. 2016 conclude, and what holds of it."""

from __future__ import annotations

from papers.conclusions.record import Conclusion

CONCLUSIONS = (
    Conclusion(
        "no metric comes near the agreement of people",
        "the best metric is below the agreement of two halves of the raters on all five sets with several raters; "
        "on grade_empatheticdialogues, people hardly agree either (0.152, the best metric 0.118)",
        "yes",
        "metric-figures",
        ("Table 3",),
    ),
    Conclusion(
        "metrics correlate with people very weakly on Twitter",
        "at most 0.184 on the two GRADE sets, but up to 0.428 on the other four; in three of these, the true reply "
        "is one of the judged replies and its own reference",
        "in part",
        "metric-figures",
        ("Table 3", "Figure 1"),
    ),
    Conclusion(
        "metrics do not correlate with people at all on Ubuntu, a technical domain",
        "the judged Ubuntu replies are not public, and none of our sets is technical",
        "not measured",
        "metric-figures",
        ("Table 3",),
    ),
    Conclusion(
        "BLEU-3 and BLEU-4 are a noisy BLEU-2, which should be used instead",
        "the three are much alike (0.375, 0.377 and 0.379 on zhao2020_dailydialog), and none is ahead on every set",
        "in part",
        "metric-figures",
        ("Table 3",),
    ),
    Conclusion(
        "without stop words and punctuation, BLEU-2 agrees less with people",
        "it agrees more on five of six sets, most clearly on gupta2019_dailydialog (0.290, with them 0.210)",
        "no",
        "metric-figures",
        ("Table 4",),
    ),
    Conclusion(
        "BLEU and METEOR favour replies of the reference's length; the embedding average and people do not",
        "BLEU favours them more than people do on all six sets, METEOR on three, the embedding average on none; "
        "people themselves do on one",
        "in part",
        "metric-figures",
        ("Table 5",),
    ),
    Conclusion(
        "embedding metrics rank the dual encoder above both TF-IDF baselines",
        "one over MiniLM has higher means than both on EmpatheticDialogues, clearly so by the average alone, and than "
        "R-TFIDF alone on DailyDialog (reply-model-figures); one of two GRUs, trained briefly, is above neither",
        "in part",
        "reply-model-figures-empathetic",
        ("Table 2",),
    ),
    Conclusion(
        "embedding metrics rank HRED above the LSTM",
        "by all three metrics on EmpatheticDialogues, and by greedy matching alone on DailyDialog "
        "(reply-model-figures)",
        "in part",
        "reply-model-figures-empathetic",
        ("Table 2",),
    ),
    Conclusion(
        "HRED and the dual encoder are alike by embedding metrics",
        "HRED and a dual encoder over MiniLM are alike by two of three metrics on EmpatheticDialogues; HRED is above a "
        "briefly trained dual encoder of two GRUs by all three metrics on both corpora",
        "in part",
        "reply-model-figures-empathetic",
        ("Table 2",),
    ),
    Conclusion(
        "metrics and people judge some replies in opposite ways",
        "BLEU-2 and ROUGE give 0.00 to three replies that people rate 5.00; three that people rate 1.00 share words "
        "with the reference",
        "yes",
        "metric-figures",
        ("Figure 2",),
    ),
)
