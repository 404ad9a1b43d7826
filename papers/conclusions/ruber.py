"""What Tao et al. 2018 conclude, and what holds of it."""

from __future__ import annotations

from papers.conclusions.record import Conclusion

CONCLUSIONS = (
    Conclusion(
        "it agrees with people better than BLEU and ROUGE do",
        "on PersonaChat (0.422 with a GRU, 0.577 with MiniLM; ROUGE 0.373 in metric-figures), but not on "
        "DailyDialog (0.272 and 0.369; ROUGE 0.381)",
        "in part",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "the referenced part, s_R, agrees with people better than BLEU and ROUGE do",
        "it agrees less on both sets: 0.173 on DailyDialog and 0.303 on PersonaChat (ROUGE 0.381 and 0.373 in "
        "metric-figures)",
        "no",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "the unreferenced part, s_U, agrees with people better than s_R does",
        "with every encoder on PersonaChat, and on DailyDialog with a GRU (0.246, s_R 0.173) and MiniLM (0.350), "
        "but not clearly with the hierarchical one (0.172)",
        "in part",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "blending both parts is better than either",
        "the arithmetic blend is better than the better part, with every encoder and on both sets",
        "yes",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "the maximum is the worst blend",
        "true on DailyDialog with two of three encoders, and on PersonaChat with none",
        "in part",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "it comes near the agreement of people",
        "with MiniLM on PersonaChat (0.577, two halves of the raters 0.648 in metric-figures); not with a GRU, as "
        "in the paper (0.422), nor on DailyDialog (at most 0.369, halves 0.602)",
        "in part",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "mean s_U rises with the rating, even among true replies",
        "over all replies, it rises from each fifth to the next in four of six cases, and from the lowest to the "
        "highest in all; there are too few true replies to tell",
        "in part",
        "ruber-figures",
        ("Figure 1",),
    ),
    Conclusion(
        "it transfers to another corpus with a slight loss",
        "with MiniLM hardly anything is lost in either direction (0.577 to 0.559 on PersonaChat, 0.327 to 0.308 on "
        "DailyDialog); a GRU trained on as many replies keeps little (0.403 to 0.153, 0.191 to 0.060), but one "
        "trained on all of DailyDialog does on PersonaChat (0.417 in ruber-figures)",
        "in part",
        "ruber-transfer",
        ("Table 4",),
    ),
    Conclusion(
        "BLEU and ROUGE are often near 0 for good replies, where RUBER is not",
        "three good replies that were chosen to show it (people: 4.25 to 4.75) have a BLEU-2 of at most 0.03 and a "
        "RUBER of 0.87 to 0.90",
        "yes",
        "evaluator-studies",
        ("Table 3",),
    ),
    Conclusion(
        "it follows people more closely than BLEU-2 and ROUGE do, system by system and on another corpus",
        "on the other corpus alone (0.33; BLEU-2 0.28, ROUGE 0.27), not for a retrieval system (0.16; 0.40 and "
        "0.42), nor for Seq2Seq (0.05; 0.27 and 0.27)",
        "in part",
        "evaluator-studies",
        ("Figure 4", "Figure 5", "Figure 6"),
    ),
)
