"""All names that come with the package, each with one record: what is known of it without importing its class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["metric", "judge", "evaluator", "sentence encoder", "reply model", "shipped", "template"]
"""Metrics need no training; judges need an address; evaluators, sentence encoders and reply models are trained, saved
in a folder and loaded from it. Trained evaluators are shipped with the package; a template lacks some members."""


@dataclass(frozen=True, slots=True)
class Registered:
    """All that is known about a name without importing its class."""

    kind: Kind
    place: str
    """Where its class is, or the folder of what comes with the package."""
    group: str = ""
    """The heading under which `rejoinder train` lists it."""
    purpose: str = ""
    """What `train` makes of it, or what a shipped evaluator measures; the class of a metric says so itself."""
    weakness: str = ""
    """Where it is known to be wrong."""
    page: str = ""
    """The page with its figures, where its agreement with people depends on how it was trained."""
    encodes: bool = False
    """Whether an evaluator is a sentence encoder, too."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The models that a template needs."""


_FROM_ALL = "evaluators that learn from dialogues, with or without human ratings"
_FROM_RATINGS = "evaluators that learn from rated replies"
_FROM_DIALOGUES = "evaluators that learn from dialogues alone"
_AS_IT_IS = "evaluators that use a trained model as it is"
_ENCODERS = "sentence encoders"
_REPLY_MODELS = "reply models"

_OVERLAP = "A good reply in other words than the references scores low."
_WORD_VECTORS = "Ignores word order and negation, and rates nearly all replies on the topic of the reference alike."
_ADEM = "Predictions tend towards the mean of the ratings; other systems than those in the ratings may be misjudged."
_DOT = "Not calibrated: a starting point of ADEM, rarely of use by itself."

REGISTERED: dict[str, Registered] = {
    "bleu": Registered(
        "metric",
        "rejoinder.metrics.bleu:Bleu",
        weakness=f"{_OVERLAP} Word order hardly matters to bleu-1 and bleu-2; most replies score near 0 with one "
        "reference.",
    ),
    "rouge-l": Registered(
        "metric",
        "rejoinder.metrics.overlap:RougeL",
        weakness=f"{_OVERLAP} Long replies gain from common words that happen to be in order.",
    ),
    "meteor": Registered(
        "metric",
        "rejoinder.metrics.meteor.metric:Meteor",
        weakness=f"{_OVERLAP} Stems and synonyms soften this for English only.",
    ),
    "cider": Registered(
        "metric",
        "rejoinder.metrics.cider:Cider",
        weakness=f"{_OVERLAP} Its word weights come from the references of the scored file, so that scores of two "
        "files cannot be compared.",
    ),
    "chrf": Registered(
        "metric",
        "rejoinder.metrics.overlap:ChrF",
        weakness=f"{_OVERLAP} Parts of words that happen to be shared count, so that unrelated replies score above 0.",
    ),
    "embedding-average": Registered(
        "metric",
        "rejoinder.metrics.embedding:EmbeddingAverage",
        weakness=_WORD_VECTORS,
    ),
    "vector-extrema": Registered(
        "metric",
        "rejoinder.metrics.embedding:VectorExtrema",
        weakness=_WORD_VECTORS,
    ),
    "greedy-matching": Registered(
        "metric",
        "rejoinder.metrics.embedding:GreedyMatching",
        weakness=_WORD_VECTORS,
    ),
    "distinct": Registered(
        "metric",
        "rejoinder.metrics.diversity:Distinct",
        weakness="Says nothing about a reply's quality: random words are the most diverse. Falls as replies get "
        "longer.",
    ),
    "repetition": Registered(
        "metric",
        "rejoinder.metrics.diversity:Repetition",
        weakness="Finds loops and echoes, nothing else: an off-topic reply can have a perfect score.",
    ),
    "specificity": Registered(
        "metric",
        "rejoinder.metrics.diversity:Specificity",
        weakness="Not a quality: rare words may be wrong, off-topic or misspelt (typos .73, good replies .48).",
    ),
    "pm": Registered(
        "metric",
        "rejoinder.metrics.pragmatic:Pm",
        weakness="Looks for contradictions in places, numbers and yes or no only; any other wrong reply passes.",
    ),
    "length": Registered(
        "metric",
        "rejoinder.metrics.overlap:Length",
        weakness="Not a measure of quality. Report it beside metrics that may prefer long or short replies.",
    ),
    "fluency": Registered(
        "metric",
        "rejoinder.metrics.fluency:Fluency",
        weakness="Judges the language only, and only English: an off-topic reply can have a perfect score. Says "
        "nothing about replies of fewer than four words.",
        page="results/default-blend.md",
    ),
    "ruber-pool": Registered(
        "metric",
        "rejoinder.evaluators.ruber.unref:RuberPool",
        weakness="Rewards replies that repeat words of the context.",
        page="results/ruber-figures.md",
    ),
    "judge": Registered(
        "judge",
        "rejoinder.judge.judge:Judge",
        weakness="Only as good as the language model behind it: it may prefer long replies, its own style or the "
        "first of two. Costs a request per reply.",
    ),
    "jury": Registered(
        "judge",
        "rejoinder.judge.judge:Jury",
        weakness="The same as for judge, averaged over several models, at the cost of all of them.",
    ),
    "encoder": Registered(
        "evaluator",
        "rejoinder.evaluators.encoder.encoder:Encoder",
        group=_FROM_ALL,
        purpose="fine-tune a pretrained encoder to judge how well a reply fits its context (recommended)",
        weakness="Learns what its training data reward; replies unlike them may be misjudged (score prints a note). "
        "Training needs the train extra.",
    ),
    "ruber": Registered(
        "evaluator",
        "rejoinder.evaluators.ruber.ruber:Ruber",
        group=_FROM_ALL,
        purpose="similarity to a reference and fit to the context",
        weakness=f"{_OVERLAP} Its other half learned to tell true replies from random ones, so that a wrong reply "
        "on the topic may pass.",
        page="results/ruber-figures.md",
    ),
    "ruber-unref": Registered(
        "evaluator",
        "rejoinder.evaluators.ruber.unref:RuberUnref",
        group=_FROM_ALL,
        purpose="the unreferenced part of RUBER: how well a reply fits its context",
        weakness="Learned to tell true replies from random ones: a wrong reply on the topic may pass.",
        page="results/ruber-figures.md",
    ),
    "am-fm": Registered(
        "evaluator",
        "rejoinder.evaluators.am_fm:AmFm",
        group=_FROM_ALL,
        purpose="adequacy and fluency compared with references",
        weakness=f"{_OVERLAP} Needs training text of the same domain as the references.",
        page="results/am-fm-dstc6.md",
    ),
    "blend": Registered(
        "evaluator",
        "rejoinder.evaluators.blend.blend:Blend",
        group=_FROM_RATINGS,
        purpose="predict ratings from several evaluators and metrics: the choice for a few hundred ratings",
        weakness="Learns what the rated replies reward: with ratings of one kind of chat, other kinds may be "
        "misjudged. It is no better than its members allow.",
        page="results/default-blend.md",
    ),
    "static": Registered(
        "evaluator",
        "rejoinder.evaluators.static.static:Static",
        group=_FROM_RATINGS,
        purpose="judge a reply by word vectors and word counts, as the bundled default-fast does",
        weakness="Reads words and not their order.",
    ),
    "adem": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.adem:Adem",
        group=_FROM_RATINGS,
        purpose="predict ratings from an encoder's vectors of context, reference and reply",
        weakness=_ADEM,
        page="results/adem-figures.md",
    ),
    "c-adem": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.adem:ContextAdem",
        group=_FROM_RATINGS,
        purpose="ADEM that compares a reply with its context only, so that it needs no reference",
        weakness=_ADEM,
        page="results/adem-figures.md",
    ),
    "r-adem": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.adem:ReferenceAdem",
        group=_FROM_RATINGS,
        purpose="ADEM that compares a reply with its references only",
        weakness=_ADEM,
        page="results/adem-figures.md",
    ),
    "human-likeness": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.baselines:HumanLikeness",
        group=_FROM_RATINGS,
        purpose="classify whether a person or a model gave a reply",
        weakness="Learns the habits of the systems in its training data; a new system has other ones.",
        page="results/adem-figures.md",
    ),
    "ruber-ref": Registered(
        "evaluator",
        "rejoinder.evaluators.ruber.unref:RuberRef",
        group=_FROM_DIALOGUES,
        purpose="the referenced part of RUBER: similarity to a reference",
        weakness=_WORD_VECTORS,
        page="results/ruber-figures.md",
    ),
    "am": Registered(
        "evaluator",
        "rejoinder.evaluators.am_fm_parts:Am",
        group=_FROM_DIALOGUES,
        purpose="the adequacy part of AM-FM",
        weakness=f"{_OVERLAP} Word order does not matter to it.",
        page="results/am-fm-dstc6.md",
    ),
    "fm": Registered(
        "evaluator",
        "rejoinder.evaluators.am_fm_parts:Fm",
        group=_FROM_DIALOGUES,
        purpose="the fluency part of AM-FM",
        weakness="Judges fluency only; an off-topic reply can have a perfect score.",
        page="results/am-fm-dstc6.md",
    ),
    "skip-thought": Registered(
        "evaluator",
        "rejoinder.evaluators.simple:SkipThought",
        encodes=True,
        group=_FROM_DIALOGUES,
        purpose="cosine similarity to a reference, with vectors learned by predicting neighbouring utterances",
        weakness=f"{_OVERLAP} Needs much text to learn useful vectors.",
    ),
    "ensemble": Registered(
        "evaluator",
        "rejoinder.evaluators.ensemble:Ensemble",
        group=_FROM_DIALOGUES,
        purpose="weighted mean of several evaluators and metrics, each standardised on dialogues",
        weakness="All members count as weighted, however bad; compare it with its best member on rated replies.",
    ),
    "encoder-cosine": Registered(
        "evaluator",
        "rejoinder.evaluators.simple:EncoderCosine",
        group=_AS_IT_IS,
        purpose="cosine similarity of a pretrained encoder's vectors",
        weakness="Measures similarity: a reply that repeats the last turn has a perfect score.",
    ),
    "likelihood": Registered(
        "evaluator",
        "rejoinder.evaluators.simple:Likelihood",
        group=_AS_IT_IS,
        purpose="likelihood of a reply under a pretrained language model",
        weakness="Rewards replies that the language model itself would give, often generic ones.",
    ),
    "encoder-dot": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.baselines:EncoderDot",
        group=_AS_IT_IS,
        purpose="dot product of an encoder's vectors, the starting point of ADEM",
        weakness=_DOT,
        page="results/adem-figures.md",
    ),
    "vhred-dot": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.baselines:VhredDot",
        group=_AS_IT_IS,
        purpose="encoder-dot with the encoder of a trained HRED or VHRED",
        weakness=_DOT,
        page="results/adem-figures.md",
    ),
    "t2v-dot": Registered(
        "evaluator",
        "rejoinder.evaluators.adem.baselines:Tweet2VecDot",
        group=_AS_IT_IS,
        purpose="encoder-dot with a trained tweet2vec",
        weakness=_DOT,
        page="results/adem-figures.md",
    ),
    "tweet2vec": Registered(
        "sentence encoder",
        "rejoinder.models.tweet2vec:Tweet2Vec",
        group=_ENCODERS,
        purpose="a character-level sentence encoder, learned from dialogues",
    ),
    "stored-vectors": Registered(
        "sentence encoder",
        "rejoinder.models.sentence_encoders:StoredVectors",
    ),
    "pretrained": Registered(
        "sentence encoder",
        "rejoinder.models.sentence_encoders:PretrainedEncoder",
    ),
    "r-tfidf": Registered(
        "reply model",
        "rejoinder.replies.lexical:ResponseTfidf",
        group=_REPLY_MODELS,
        purpose="retrieve the reply that is most similar to the context, by TF-IDF",
    ),
    "c-tfidf": Registered(
        "reply model",
        "rejoinder.replies.lexical:ContextTfidf",
        group=_REPLY_MODELS,
        purpose="retrieve the reply to the most similar context, by TF-IDF",
    ),
    "bm25": Registered(
        "reply model",
        "rejoinder.replies.lexical:Bm25",
        group=_REPLY_MODELS,
        purpose="retrieve the reply that BM25 ranks first for the context",
    ),
    "retrieve-rerank": Registered(
        "reply model",
        "rejoinder.replies.rerank:RetrieveRerank",
        group=_REPLY_MODELS,
        purpose="retrieve replies to similar last turns by keywords, then choose one by weighted features",
    ),
    "dual-encoder": Registered(
        "reply model",
        "rejoinder.replies.dual_encoder:DualEncoder",
        group=_REPLY_MODELS,
        purpose="retrieve the reply that fits best by a bilinear score of a pretrained encoder's vectors",
    ),
    "dual-encoder-rnn": Registered(
        "reply model",
        "rejoinder.replies.dual_encoder:RecurrentDualEncoder",
        group=_REPLY_MODELS,
        purpose="retrieve the reply that fits best by two GRUs that are trained for it",
    ),
    "lstm-lm": Registered(
        "reply model",
        "rejoinder.replies.recurrent:LstmLanguageModel",
        group=_REPLY_MODELS,
        purpose="generate with an LSTM language model that continues the dialogue",
    ),
    "seq2seq": Registered(
        "reply model",
        "rejoinder.replies.recurrent:Seq2SeqModel",
        group=_REPLY_MODELS,
        purpose="generate with a GRU encoder over the last turns and a GRU decoder",
    ),
    "seq2seq-attention": Registered(
        "reply model",
        "rejoinder.replies.recurrent:Seq2SeqAttention",
        group=_REPLY_MODELS,
        purpose="seq2seq with attention to the words of the context",
    ),
    "hred": Registered(
        "reply model",
        "rejoinder.replies.recurrent:HredModel",
        group=_REPLY_MODELS,
        purpose="generate with a hierarchical encoder-decoder: words to turns, turns to a context, context to a reply",
    ),
    "vhred": Registered(
        "reply model",
        "rejoinder.replies.recurrent:VhredModel",
        group=_REPLY_MODELS,
        purpose="HRED with a Gaussian latent variable for each turn",
    ),
    "causal-lm": Registered(
        "reply model",
        "rejoinder.replies.neural:CausalLanguageModel",
        group=_REPLY_MODELS,
        purpose="generate with a pretrained causal language model, fine-tuned on the dialogues",
    ),
    "default": Registered(
        "shipped",
        "default-3",
        purpose="how good a reply is, from 1 to 5, by a network and other signals that come with the package",
        weakness="Does not see that a reply contradicts what was said before, or is wrong: it may even prefer it. "
        "Knows only short chat in English: nothing is decided about long replies, lists or code. Hardly distinguishes "
        "replies to one context that are all on topic, nor specific replies from generic ones. Do not rely on the "
        "score of a single reply.",
        page="results/default-blend.md",
    ),
    "default-fast": Registered(
        "shipped",
        "default-fast",
        purpose="the same by word vectors and counts: less accurate, but tens of thousands of replies per second",
        weakness="Agrees less well with people than default, and sees contradictions and errors as little. Reads words "
        "and not their order, and only English.",
    ),
    "default@1": Registered(
        "shipped",
        "default-1",
        purpose="the former default, the network alone: only to compare with earlier scores",
        weakness="As default, but rates broken language made of the context's words too high, and reads only the "
        "beginning of a long reply.",
    ),
    "default-large": Registered(
        "template",
        "default-large",
        models={"mpnet": "sentence-transformers/all-mpnet-base-v2", "smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct"},
        purpose="how good a reply is, from 1 to 5, by a network and other signals that come with the package; with "
        "sentence-transformers/all-mpnet-base-v2 and HuggingFaceTB/SmolLM2-135M-Instruct",
        weakness="As default, and slow: two to three replies per second on one core.",
        page="results/default-blend.md",
    ),
}
"""Every name that comes with the package, in the order of lists."""

FAULTS: dict[str, str] = {
    "empty": "rejoinder.faulting.rules:Empty",
    "cut-off": "rejoinder.faulting.rules:CutOff",
    "loop": "rejoinder.faulting.rules:Loop",
    "repeats-user": "rejoinder.faulting.rules:RepeatsUser",
    "repeats-itself": "rejoinder.faulting.rules:RepeatsItself",
    "canned": "rejoinder.faulting.rules:Canned",
    "other-language": "rejoinder.faulting.rules:OtherLanguage",
    "markup": "rejoinder.faulting.wording:Markup",
    "speaks-for-user": "rejoinder.faulting.wording:SpeaksForUser",
    "refusal": "rejoinder.faulting.wording:Refusal",
    "contact-data": "rejoinder.faulting.wording:ContactData",
    "offensive": "rejoinder.faulting.wording:Offensive",
}
"""Faults of replies: name -> class."""
