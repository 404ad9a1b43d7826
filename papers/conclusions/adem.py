"""What Lowe et al. 2017 conclude, and what holds of it."""

from __future__ import annotations

from papers.conclusions.record import Conclusion
from papers.published import adem

_SECONDS = adem.TABLE_11.column("seconds")["GPU"]

CONCLUSIONS = (
    Conclusion(
        "a learned evaluator agrees with people far better than word overlap does",
        "with MiniLM, clearly on PersonaChat (0.580, ROUGE 0.373 in metric-figures) and humod, slightly on "
        "DailyDialog (0.417, ROUGE 0.381); with VHRED or tweet2vec, as in the paper, not clearly on any set",
        "in part",
        "adem-figures",
        ("Table 3", "Figure 3"),
    ),
    Conclusion(
        "context and reference both help, the reference more",
        "both together are best on PersonaChat and humod with every encoder, and on DailyDialog with VHRED and "
        "HRED; the reference helps more on DailyDialog and humod, the context mostly on PersonaChat",
        "in part",
        "adem-figures",
        ("Table 3",),
    ),
    Conclusion(
        "over the means of systems it agrees with people almost perfectly, and word overlap does not",
        "it is ahead (0.838; 0.888 without the true replies, which are also the references), but word overlap "
        "agrees well too (ROUGE 0.765; BLEU-4 0.851 without them)",
        "in part",
        "evaluator-studies",
        ("Table 4", "Figure 4"),
    ),
    Conclusion(
        "it works as well for a system whose replies it was not trained on",
        "over all systems nothing is lost (MiniLM on DailyDialog: 0.430, with as many labels of all systems "
        "0.435), but on the replies of the system left out alone the correlation is low (0.185)",
        "in part",
        "adem-figures",
        ("Table 5",),
    ),
    Conclusion(
        "most good replies are scored low by BLEU-2 and ROUGE, and nearly half of these high by ADEM",
        "both score 32 of 220 good replies low, and ADEM 3 of these high; but ADEM alone misses the fewest, 22",
        "no",
        "evaluator-studies",
        ("Table 6", "Table 9"),
    ),
    Conclusion(
        "it does not favour replies of the reference's length, as word overlap does",
        "with MiniLM and tweet2vec not more than people do; on DailyDialog it does with VHRED (by 0.400 points) "
        "and with HRED, though by less than BLEU-2 (metric-figures)",
        "in part",
        "adem-figures",
        ("Table 8",),
    ),
    Conclusion(
        "its scores are too close to the mean",
        "with every encoder on every set: on DailyDialog the standard deviation is 0.39 with VHRED and 0.41 with "
        "MiniLM, that of people 1.17",
        "yes",
        "adem-figures",
        ("Table 7", "Figure 3"),
    ),
    Conclusion(
        "training is necessary: before it, the correlation is about 0",
        "training raises it (VHRED 0.178 to 0.314, tweet2vec hardly), but it is not 0 before; the dot product of "
        "MiniLM's vectors, which learns nothing, agrees about as well as ADEM",
        "in part",
        "adem-figures",
        ("Figure 7",),
    ),
    Conclusion(
        "half of the labels give nearly the same correlation",
        "true with MiniLM on two of three sets; otherwise three quarters or all are needed",
        "in part",
        "adem-figures",
        ("Table 14",),
    ),
    Conclusion(
        f"it scores the test replies in a reasonable time ({_SECONDS:.0f} s on a GPU)",
        "with MiniLM, a smaller encoder, as many replies take 6.3 s on a CPU",
        "yes",
        "adem-speed",
        ("Table 11",),
    ),
    Conclusion(
        "raters agree on the overall score and on the topic of a reply, and hardly on other questions",
        "kappa is 0.44 to 0.68 for the overall score, and 0.46 and 0.55 for relevance; for other questions it ranges "
        "from 0.00 (language in humod) to 0.80 (use of knowledge in usr_personachat)",
        "in part",
        "rater-figures",
        ("Table 1", "Table 2", "Figure 5"),
    ),
    Conclusion(
        "it scores some good replies low and some unrelated ones high",
        "it gives 2.66 to a fitting reply that people rate 5.00, and 3.50 to an unrelated one that they rate 1.00",
        "yes",
        "evaluator-studies",
        ("Table 12", "Table 13"),
    ),
)
