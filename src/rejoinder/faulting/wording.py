"""Faults that are found by their wording: refusals, leftovers of templates, contact data, offensive words."""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar

from rejoinder.faulting.fault import Evidence, Fault, Reply
from rejoinder.replies.filters import is_offensive, offensive_words
from rejoinder.text.language import UNKNOWN_LANGUAGE

# Markup: what a program left in the reply.

_ALWAYS = re.compile(
    r"<\|[\w ]{1,30}\|>|</?s>(?!\w)|\[/?INST\]|<</?SYS>>|<unk>|\[(?:EOS|BOS|PAD|UNK|SEP|CLS)\]|<(?:end|start)_of_turn>"
    r"|<(?:bos|eos|pad)>|</?(?:think|tool_call|function_call|assistant|response|answer|reasoning|scratchpad)>"
    r"|__eo[ut]__"
    r"|\[object Object\]|#{2,4} ?(?:Response|Instruction|Input|Assistant|Human)\b:|\[(?:assistant|bot|system|chatbot)\]"
    r"|^(?:Action|Thought|Observation|Action Input): ?\S.*\n(?:Action|Thought|Observation|Action Input):"
    r"|^\s*\[?(?:assistant|bot|chatbot|system|ai|agent)[\]>]?(?::|\n\n)|^<\w{2,12}>:|_comma_|\brole='\w+'",
    re.IGNORECASE | re.MULTILINE,
)
_UNLESS_ASKED = re.compile(
    r"\{\{ ?[\w.| ]{1,40} ?\}\}|\$\{[\w.]{1,40}\}|(?<![\w$\\}])\{[a-z]\w{1,30}\}|%[A-Z][A-Z_]{2,20}%|<<[A-Z_]{2,20}>>"
    r"|\b__[A-Z]{3,20}__\b"
    r"|\[(?i:your|insert|customer|first|last|company|user|recipient|sender|enter)[ _']?[\w' ]{0,30}\]|\[(?:name|date"
    r"|address)\]|<(?:your |first |last |user ?|company ?)?(?:name|date|address|email)>"
    r"|</?(?:p|br|div|span|b|i|li|ul|ol|td|tr|h[1-6]|strong|em|html|body|a href[^<>]*)\s?/?>|&(?:nbsp|lt|gt|amp|quot"
    r"|#\d{2,4});|[{\[]\s*[\"']\w[\w ]{0,40}[\"']\s*:\s*[\"'\[{\d.tfn-]|^\s*[\[{][^\n]{0,400}[\"']\s*:"
    r"|Traceback \(most recent call last\)|^\w*(?:Error|Exception): \S|^(?:ERROR|FATAL|WARN(?:ING)?)[: ] ?\S"
    r"|^\s*(?:null|undefined|NaN|None\.None)\s*$",
    re.MULTILINE,
)
_MAY_HAVE_MARKUP = re.compile(
    r"[<\[{}&%$#_=|]|^\s*(?:assistant|bot|system|ai|agent|chatbot|null|undefined|NaN|Action|Thought)\b|Error|ERROR"
    r"|Traceback",
    re.IGNORECASE,
)
_ASKS_FOR_CODE = re.compile(
    r"\b(?:code|json|html|xml|yaml|csv|css|python|javascript|java|typescript|c\+\+|sql|bash|shell|regex|latex"
    r"|markdown|jinja|rust"
    r"|script|placeholders?|template|html tags?|tags?|syntax|variable|database|null|undefined|query|function|string"
    r"|math|letter|e-?mail|draft|article|invitation|essay|recommendation)\b|[{}<>]|```"
)
_CODE = re.compile(
    r"\b(?:code|json|html|xml|yaml|csv|css|python|javascript|java|typescript|c\+\+|sql|bash|shell|regex|latex"
    r"|markdown|jinja"
    r"|script|program|function|variable|placeholder|template|tags?|syntax|format(?:ted)?|database|exception|error|api"
    r"|script|loop|letter|e-?mail|draft|null|undefined|query|app|website|parse|string)\b|[{}<>]|```"
)
_CODE = re.compile(r"(?ms)^[ \t]*```.*?(?:^[ \t]*```|\Z)|^[ \t]*~~~.*?(?:^[ \t]*~~~|\Z)|`[^`\n]+`")


class Markup(Fault):
    """Signs of a program in what should be a sentence."""

    name: ClassVar[str] = "markup"
    sentence: ClassVar[str] = "has placeholders, markup or output of a program in it"
    decides: ClassVar[str] = (
        "Placeholders such as {{name}} or [Your Name], control tokens such as <|im_end|>, labels of roles, tags of "
        "HTML, raw JSON, error messages. Within code, and where the user speaks of code or templates, control tokens "
        "only."
    )
    misses: ClassVar[str] = "Placeholders that look like words (FIRSTNAME), and data without quotation marks."

    def find(self, reply: Reply) -> Evidence | None:
        """The first such sign."""
        text = reply.text
        if _MAY_HAVE_MARKUP.search(text) is None:
            return None
        prose = _CODE.sub(lambda code: " " * len(code[0]), text) if "`" in text or "~~~" in text else text
        if found := _ALWAYS.search(prose):
            return reply.span(found)
        found = _UNLESS_ASKED.search(prose)
        if found is None or any(
            _ASKS_FOR_CODE.search(reply.example.context[at].lower()) for at in reply.user_turns[:2]
        ):
            return None
        return reply.span(found)


# Speaking for the user.

_USER = r"(?:user|human|customer|client|caller|guest|you|visitor|patient)"
_LABELLED = re.compile(
    rf"(?:(?<=\S)\s*\n\s*(?:[*#>\[ ]{{0,5}}){_USER}(?:[*\] ]{{0,4}}):(?:\*\*)?|(?<=\w\w)[.!?\"')]* +(?-i:User|Human"
    rf"|Customer): ?)\s*\S",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?m)^[*#>\[ ]{0,5}([A-Z][A-Za-z]{1,15}(?: [A-Za-z]{1,15})?)[*\] ]{0,4}:[ \t]+\S")
_ROLES = frozenset(
    "user human customer client caller guest you visitor patient assistant bot ai agent me chatbot system".split()
)
_SCRIPT_ASKED = re.compile(
    r"\b(?:dialog(?:ue)?s?|script|faq|sketch|transcript|role-?play|act as|pretend|user:|human:|form\b|the log\b|joke)\b"
    r"|\b(?:write|give|show|make|tell|create|generate|imagine|shall we)\b.{0,60}\b(?:play|scene|story|conversation"
    r"|prompt|example|interview|chat|quiz)\b"
)


class SpeaksForUser(Fault):
    """The reply goes on with the user's part."""

    name: ClassVar[str] = "speaks-for-user"
    sentence: ClassVar[str] = "speaks for the user"
    decides: ClassVar[str] = (
        "After the reply, a label such as `User:`, `Human:` or the name that the user's turns have in the data. Not "
        "where a dialogue, a script or an example is asked for, nor among labels that are no roles."
    )
    misses: ClassVar[str] = "The user's next turn without a label."

    def find(self, reply: Reply) -> Evidence | None:
        """The label and what follows."""
        text = reply.text
        if ":" not in text:
            return None
        found = _LABELLED.search(text) or _named(reply)
        if found is None or _SCRIPT_ASKED.search(reply.asked):
            return None
        labels = {label[1].lower() for label in _LABEL.finditer(text)}
        if labels - _ROLES and not set(reply.example.speakers) & labels:
            return None
        start = reply.span(found).start
        return Evidence(start, reply.whole[1])


def _named(reply: Reply) -> re.Match[str] | None:
    """A line that begins with the name of the user."""
    speakers = reply.example.speakers
    if not speakers or len(speakers) != len(reply.example.context) or not speakers[-1]:
        return None
    return re.search(rf"(?<=\S)\s*\n\s*{re.escape(speakers[-1][:40])}:\s*\S", reply.text)


# Refusals.

_AI = (
    r"(?:ai|a\.i\.|artificial intelligence|(?:large )?language model|llm|chat ?bot|virtual assistant|digital assistant"
    r"|computer program|machine learning model|voice assistant)"
)
_NOT_A_JOB = (
    r"(?! (?:research|engineer|compan|expert|develop(?:er|ment) (?:at|for)|start|lab|student|profess|scien|team|fan))"
)
_CANNOT = (
    r"(?:can(?:no|'|\u2019)?t|can not|unable to|not able to|won(?:'|\u2019)?t(?: be able to)?|will not be able to"
    r"|will not|not (?:allowed|permitted) to|(?:must|have to) (?:decline|refuse|refrain)(?: to| from)?"
    r"|cannot in good conscience)"
)
_VERBS = (
    r"(?:assist\w*|comply\w*|fulfil?l\w*|answer\w*|respond\w*|generat\w*|engag\w*|discuss\w*|comment\w*|provid\w*"
    r"|help\w*|continue\w*|complet\w*|process\w*|offer\w*|do|say|give|talk\w*)"
)
_OBJECTS = (
    r"(?:you )?(?:(?:with|to|on|in|about|a response to|assistance (?:in|with)) )?(?:that|this|your|the|such|these"
    r"|those|any|it|advice|medical|legal|financial|personal)"
)
_REFUSES = re.compile(
    rf"\b(?:as|being|since i(?:'|\u2019)?a?m|i am|i(?:'|\u2019)m) (?:just |only |merely |simply )?(?:(?:an? "
    rf"|your )(?:\w+ ){{0,2}})?{_AI}\b{_NOT_A_JOB}"
    rf"|\bi(?:'|\u2019)?(?:m| am)?(?: sorry,? (?:but )?(?:i(?:'|\u2019)?(?:m"
    rf"| am)? )?)?(?: am)?(?: afraid i)? ?{_CANNOT} "
    r"(?:assist|comply|fulfil|generat|engage in|(?:provide|offer) (?:\w+ )?(?:advice|assistance|information|opinions"
    r"|support|that|this|any)"
    r"|(?:help|answer|respond to|discuss|comment on|continue|reply to) (?:you )?(?:with )?(?:that|this|the question"
    r"|your|such|these|any))(?! (?:much|alone|until|right now|myself))"
    rf"|\b(?:sorry|afraid)\b[^.!?]{{0,30}}\b{_CANNOT} (?:do|say|answer|help)(?: you)?(?: with)?(?: that| this| it"
    rf"| there)\b(?=[.,!]|$)"
    rf"|^i {_CANNOT} (?:help|answer|do|say)(?: you)?(?: with)? (?:that|this)\b(?=[.,!]|$)"
    r"|\b(?:violates?|against) (?:\w+ ){0,2}(?:content )?(?:polic(?:y|ies)|guidelines|programming|terms)"
    r"|\bmy (?:guidelines|programming|policies|instructions)\b"
    r"|\b(?:i am|i(?:'|\u2019)m|i was|i have been) (?:not )?(?:programmed|trained|designed) (?:to|by|not)\b"
    r"|\bi (?:must|have to|need to) (?:decline|refuse|refrain)\b|\bi must respectfully\b"
    r"|\b(?:don(?:'|\u2019)t|do not) feel comfortable (?:talking|discussing|answering|continuing|with|sharing"
    r"|providing)|\bnot comfortable (?:talking|discussing|answering|continuing|providing|with (?:this|that))"
    r"|\binappropriate (?:for me )?to (?:comment|discuss|answer|respond|talk|say|provide|give)"
    r"|\bi(?:'|\u2019)?m? ?(?:am )?not (?:allowed|permitted|able) to (?:talk|discuss|say|answer|share|provide"
    r"|disclose)\b"
    r"|\b(?:don(?:'|\u2019)t|do not) have (?:personal (?:experiences?|opinions?|feelings?|beliefs?|preferences?)"
    r"|feelings or|the ability to"
    r"|access to (?:that|this|real-time|personal|such))|\bwhat i(?:'|\u2019)m permitted to|\bbeyond what i"
    r"|\b(?:won(?:'|\u2019)t|will not) be able to (?:help|assist)"
)
_MAY_REFUSE = frozenset(
    "sorry can't cant cannot unable able won't decline refuse refrain ai llm chatbot artificial model models "
    "bot assistant policy policies guidelines programming programmed trained designed inappropriate "
    "comfortable personal ability access permitted allowed can\u2019t won\u2019t program".split()
)
"""Words of which every refusal has one."""
_HARMFUL = re.compile(
    r"\b(?:bomb|explosiv\w*|weapon\w*|gun|kill\w*|murder\w*|poison\w*|cocaine|heroin|meth|drugs?|hack\w*|malware"
    r"|virus|ransomware"
    r"|phish\w*|steal\w*|stolen|fake (?:id|passport|document|money|prescription)\w*|forg(?:e|ing|ed)|counterfeit"
    r"|racis[tm]\w*|sexist"
    r"|nazi|rape\w*|porn\w*|nude\w*|sex|suicid\w*|(?:hurt|harm|kill) (?:myself|himself|herself|someone|somebody"
    r"|people|my|him|her)"
    r"|stalk\w*|spy on|blackmail|terroris\w*|self-harm|cheat on|launder\w*|smuggl\w*|illegal\w*|without (?:her|him"
    r"|them) (?:knowing|noticing)"
    r"|without (?:their|his|her) (?:consent|knowledge)|torture|abus\w*|slur\w*|insult\w*|attack\w*|break into"
    r"|shoplift\w*|die|ex's)\b"
)
_ASKS_WHO = re.compile(
    r"\b(?:are you|you(?:'re| are)) (?:really |actually |even )?(?:an? )?(?:\w+ )?(?:human|robot|ai|bot|real|machine"
    r"|person|computer|alive|program)\b"
    r"|\b(?:who|what) (?:\w+ )?are you\s*(?:\?|$)|\bwho am i (?:talking|speaking|chatting)|\byour (?:limit|capabilit"
    r"|context)|\byou (?:can(?:no|'|\u2019)t|can) (?:not )?(?:help|do)\b|\bas an? (?:ai|language)|\bai\b"
)


class Refusal(Fault):
    """No answer where one could be given."""

    name: ClassVar[str] = "refusal"
    sentence: ClassVar[str] = "refuses an answer, or says that it is an AI"
    decides: ClassVar[str] = (
        'Phrases of refusal ("I cannot assist with") and of bots about themselves ("as an AI language model"), in '
        "English. Not where the user's last turn has words of violence, crime, drugs or sex, or asks who replies."
    )
    misses: ClassVar[str] = (
        "Refusals in other words or languages; harmless questions with such a word; harmful ones without any, whose "
        "refusal then counts as a fault."
    )
    needs: ClassVar[frozenset[str]] = frozenset({"context"})

    def find(self, reply: Reply) -> Evidence | None:
        """The phrase."""
        lower = reply.lower
        if _MAY_REFUSE.isdisjoint(reply.words) and "can not" not in lower and "will not" not in lower:
            return None
        found = _REFUSES.search(lower)
        if found is None or not reply.user_turns:
            return None
        if _HARMFUL.search(reply.asked) or _ASKS_WHO.search(reply.asked):
            return None
        return reply.span(found) if len(lower) == len(reply.text) else Evidence(*reply.whole)


# Contact data, numbers and keys that nobody mentioned.

_EMAIL = r"(?P<email>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
_KEY = (
    r"(?P<key>\b(?:sk-(?:proj-|ant-)?[\w-]{20,}|gh[pousr]_\w{30,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}"
    r"|glpat-[\w-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----))"
)
_IBAN = r"(?P<iban>\b[A-Z]{2}\d{2}(?: ?[\dA-Z]{4}){3,7}(?: ?[\dA-Z]{1,3})?\b)"
_CARD = r"(?P<card>(?<![\d.-])(?:\d{4}[ -]?){3}\d{1,4}(?![\d-]|\.\d))"
_PHONE = (
    r"(?P<phone>(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(0?\)[ ]?)?\(?\d{1,4}\)?(?:[ .-]?\d{2,8}){1,4}"
    r"|\(\d{3}\) ?\d{3}[ -]\d{4}"
    r"|(?:1[ .-])?\d{3}[.-]\d{3}[.-]\d{4}|\d{3}-\d{4}|0\d{2,4}[ /-]\d{5,8}|0\d{2,4}(?: \d{3,4}){2,3})(?![\w-]|\.\d))"
)
_CONTACT = re.compile("|".join((_EMAIL, _KEY, _IBAN, _CARD, _PHONE)))
_MAY_HAVE_CONTACT = re.compile(
    r"@\w|\d[\d ().-]{5,}\d|[A-Z]{2}\d\d[ \dA-Z]{8}|sk-|gh[pousr]_|AKIA|AIza|xox|glpat|-----BEGIN"
)
_EXAMPLE = re.compile(r"@(?:[\w-]+\.)*(?:example|test|invalid|localhost)(?:\.|$)", re.IGNORECASE)
_ASKED_FOR = re.compile(r"\b(?:phone|telephone|mobile|number|e-?mail|contact|reach|call|address|fax|hotline)\b")
_NAMES = {
    "email": "an e-mail address",
    "key": "a key",
    "iban": "a bank account",
    "card": "the number of a card",
    "phone": "a telephone number",
}


class ContactData(Fault):
    """Somebody's data, or made-up ones."""

    name: ClassVar[str] = "contact-data"
    sentence: ClassVar[str] = "has contact data, a key or a card number that nobody mentioned"
    decides: ClassVar[str] = (
        "E-mail addresses, telephone numbers with separators, card numbers and bank accounts with the right check "
        "digits, and keys of well-known services, which do not occur in the context; not addresses and telephone "
        "numbers that the user asks for."
    )
    misses: ClassVar[str] = (
        "Postal addresses, names, numbers without separators; it does not know whether an address that a company gives "
        "out is right."
    )

    def find(self, reply: Reply) -> Evidence | None:
        """The first address, number or key."""
        if _MAY_HAVE_CONTACT.search(reply.text) is None:
            return None
        said = ""
        for found in _CONTACT.finditer(reply.text):
            kind = str(found.lastgroup)
            if not _is_valid(kind, found[0]):
                continue
            if kind in ("email", "phone") and _ASKED_FOR.search(reply.asked):
                continue
            said = said or _bare("\n".join(reply.example.context)) + "\n"
            if _bare(found[0]) not in said:
                return reply.span(found, _NAMES[kind])
        return None


_BARE = str.maketrans("", "", " -.()/")


def _bare(text: str) -> str:
    return text.translate(_BARE).lower()


def _is_valid(kind: str, text: str) -> bool:
    if kind == "email":
        return _EXAMPLE.search(text) is None
    if kind == "card":
        digits = [int(digit) for digit in text if digit.isdigit()]
        doubled = [sum(divmod(2 * digit, 10)) if at % 2 else digit for at, digit in enumerate(reversed(digits))]
        return 13 <= len(digits) <= 19 and digits[0] in (3, 4, 5, 6) and sum(doubled) % 10 == 0
    if kind == "iban":
        plain = text.replace(" ", "")
        return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1
    if kind == "phone":
        return 7 <= sum(map(str.isdigit, text)) <= 15
    return True


# Offensive words.

_DISGUISED = re.compile(r"[a-z][@$*!#0134v5]+[a-z@$*]|(?<![^\W\d_])[@$][a-z]|([a-z])\1\1")
_SIGNS = re.compile(r"[@$*#0134]|fv")
_STRETCHED = tuple(3 * letter for letter in "aceghiknoprstu")
_INSULTS = frozenset("kill piece subhuman moron idiot imbecile scum die hate hates fvck fvcking fuck fucking".split())
_THREATS = re.compile(
    r"\bkill (?:yourself|urself)\b|\bpiece of (?:garbage|filth|scum|trash)\b|\bsubhuman\b"
    r"|\byou(?:(?:'|\u2019)?re| are) (?:an? )?(?:\w+ )?(?:moron|idiot|imbecile|scum)\b|\bscum[.!]"
    r"|^die,? (?:you|scum|bastard|already)\b|\b(?:everybody|everyone|nobody) (?:hates|likes) you\b|\bfvck\w*"
)
_INNOCENT = re.compile(
    r"maine coons?|chinks? in (?:\w+ ){0,3}armou?rs?|spic and span|bastard (?:sword|son|child|brother|file)s?"
    r"|retarded (?:motion|growth|time|potential)|pussy ?(?:cats?|willows?)|(?:brood|stud|pregnant) bitch(?:es)?"
    r"|bitch,? in the language|tit for tat|(?:blue|great|coal|marsh) tits?|coal tits|faggots and peas|wopping"
)
_BREEDING = re.compile(r"\b(?:female dog|breed\w*|kennel|litter|pupp(?:y|ies)|whelp\w*)\b")


@cache
def _listed() -> tuple[frozenset[str], tuple[str, ...], frozenset[str]]:
    """Words, beginnings of words, and the first three letters of all."""
    words = frozenset(word for word in offensive_words() if not word.endswith("*"))
    beginnings = tuple(word.removesuffix("*") for word in offensive_words() if word.endswith("*"))
    return words, beginnings, frozenset(word[:3] for word in (*words, *beginnings))


class Offensive(Fault):
    """Profanity, slurs and insults."""

    name: ClassVar[str] = "offensive"
    sentence: ClassVar[str] = "has offensive words"
    decides: ClassVar[str] = (
        "Words of a list of strong profanity, slurs and sexual insults (resources/offensive_words.txt), disguised ones "
        "too, and a few insults of the person. Not where the user said the same word, nor in innocent phrases."
    )
    misses: ClassVar[str] = "Rudeness without such words; other languages than English; what depends on who says it."

    def find(self, reply: Reply) -> Evidence | None:
        """The first such word."""
        words, beginnings, starts = _listed()
        lower = reply.lower
        if not starts.isdisjoint([word[:3] for word in reply.words]):
            for word in reply.words:
                if (word in words or word.startswith(beginnings)) and (evidence := self._listed_word(reply, word)):
                    return evidence
        if not _INSULTS.isdisjoint(reply.words) and (found := _THREATS.search(lower)):
            return reply.span(found) if len(lower) == len(reply.text) else Evidence(*reply.whole)
        if _SIGNS.search(lower) or any(letters in lower for letters in _STRETCHED):
            return self._disguised(reply)
        return None

    def _disguised(self, reply: Reply) -> Evidence | None:
        for part in re.finditer(r"\S+", reply.text):
            word = part[0].lower()
            if len(word) < 40 and _DISGUISED.search(word) and is_offensive(word) and word not in reply.asked:
                return reply.span(part)
        return None

    def _listed_word(self, reply: Reply, word: str) -> Evidence | None:
        lower = reply.lower
        innocent = [found.span() for found in _INNOCENT.finditer(lower)]
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", " ".join(reply.example.context).lower()):
            return None
        if word.startswith("bitch") and _BREEDING.search(reply.asked):
            return None
        for found in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", lower):
            if reply.language not in ("en", UNKNOWN_LANGUAGE):
                return None
            if not any(start <= found.start() < end for start, end in innocent):
                return reply.span(found) if len(lower) == len(reply.text) else Evidence(*reply.whole)
        return None
