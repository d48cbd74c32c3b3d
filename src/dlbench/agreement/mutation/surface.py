"""Lexical operators, on single words of prose: verbs, synonyms, capitals and typos."""

import re
from collections.abc import Iterator
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Original, Paraphrase, operator
from dlbench.agreement.mutation.text import ParsedPrompt, Piece, Verb, capitalize, load_words, parse_prompt, stem

# After one of these a base form is a noun: the return, its use, no change.
_BEFORE_NOUN = {
    "the", "a", "an", "its", "their", "no", "each", "this", "that", "any", "of", "own", "every", "for", "in",
}  # fmt: skip
# `give back it` is not English, and `need not` has no object.
_STOPS = {"it", "them", "itself", "themselves", "to", "not", "for", "of", "back", "out", "up"}
_PARTICIPLE = 2
_NEAR = 3
_MIN_TYPO_LENGTH = 6
_MAX_TYPOS = 3
_MAX_REPLACED = 4
"""A prompt with every word replaced would be another prompt."""
_Replacement = tuple[Piece, str]


@operator("verbs", Family.LEXICAL, "one to four verbs replaced by similar ones: compute, calculate", order=1)
def change_verbs(original: Original, rng: Random) -> Paraphrase:
    prompt = parse_prompt(original.task)
    return _replace_some(original, prompt, list(_find_verbs(prompt, rng)), rng)


def _find_verbs(prompt: ParsedPrompt, rng: Random) -> Iterator[_Replacement]:
    known = {form: (verb, index) for verb in load_words().verbs for index, form in enumerate(verb.forms) if form}
    for sentence in prompt.sentences:
        tokens = prompt.within(sentence)
        for number, token in enumerate(tokens):
            if token.text.lower() not in known or token not in prompt.words:
                continue
            verb, form = known[token.text.lower()]
            others = [other[form] for other in verb.others if other[form]]
            following = tokens[number + 1 : number + 1 + _NEAR]
            before = tokens[number - 1].text.lower() if number else ""
            is_noun = form < _PARTICIPLE and before in _BEFORE_NOUN
            if others and not is_noun and _may_replace(verb, form, following):
                yield token, rng.choice(others)


def _may_replace(verb: Verb, form: int, following: list[Piece]) -> bool:
    if form == _PARTICIPLE:
        return True
    if following and following[0].text.lower() in _STOPS:
        return False
    if not verb.before:
        return True
    near = following if "Error" in verb.before else following[:1]
    return any(re.search(verb.before, piece.text.strip("`")) for piece in near)


@operator(
    "synonyms", Family.LEXICAL, "one to four domain words replaced by synonyms: learning rate, step size", order=2
)
def change_synonyms(original: Original, rng: Random) -> Paraphrase:
    prompt, table = parse_prompt(original.task), load_words().synonyms
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w\0'’-])(?:{'|'.join(longest_first)})(?![\w\0'’-])", re.IGNORECASE)  # noqa: RUF001
    found = [
        (Piece(match.start(), match.end(), match[0]), rng.choice(table[match[0].lower()]))
        for match in pattern.finditer(prompt.hidden)
        if table[match[0].lower()]
    ]
    return _replace_some(original, prompt, found, rng)


def _replace_some(original: Original, prompt: ParsedPrompt, found: list[_Replacement], rng: Random) -> Paraphrase:
    if not found:
        raise NotApplicable("no word of the text is in the table")
    chosen = rng.sample(found, min(len(found), rng.randint(1, _MAX_REPLACED)))
    return original.rewrite(_adjust_article(prompt, piece, new) for piece, new in chosen)


def _adjust_article(prompt: ParsedPrompt, piece: Piece, new: str) -> _Replacement:
    """Keep a capital letter, and choose between `a` and `an` before the new word."""
    new = capitalize(new) if piece.text[0].isupper() else new
    article = next((word for word in prompt.words if word.end + 1 == piece.start), None)
    if article is None or article.text.lower() not in ("a", "an"):
        return piece, new
    right = article.text[0] + ("n" if new[0].lower() in "aeiou" else "")
    between = prompt.text[article.end : piece.start]
    return Piece(article.start, piece.end, prompt.text[article.start : piece.end]), f"{right}{between}{new}"


@operator("upper-case", Family.LEXICAL, "all prose in capitals", order=3)
def change_upper_case(original: Original, rng: Random) -> Paraphrase:
    return original.rewrite((word, word.text.upper()) for word in parse_prompt(original.task).words)


@operator("typos", Family.LEXICAL, "two letters exchanged in one to three long words", order=4)
def change_typos(original: Original, rng: Random) -> Paraphrase:
    """Swap two inner letters of long words: a left-out letter would too often make another word (splits, spits)."""
    prompt = parse_prompt(original.task)
    protected = load_words().all_protected
    known = {word.text.lower() for word in prompt.words} | _list_vocabulary()
    long = [word for word in prompt.words if len(word.text) >= _MIN_TYPO_LENGTH and word.text.isalpha()]
    usable = [word for word in long if stem(word.text) not in protected and _list_swaps(word.text)]
    if not usable:
        raise NotApplicable("no word is long enough and unprotected")
    chosen = rng.sample(usable, min(len(usable), rng.randint(1, _MAX_TYPOS)))
    typos = [(word, _swap(word.text, rng)) for word in chosen]
    kept = [(word, typo) for word, typo in typos if typo.lower() not in known]
    if not kept:
        raise NotApplicable("every typo would make another word")
    return original.rewrite(kept)


def _swap(word: str, rng: Random) -> str:
    index = rng.choice(_list_swaps(word))
    return f"{word[:index]}{word[index + 1]}{word[index]}{word[index + 2 :]}"


def _list_swaps(word: str) -> list[int]:
    """Indices of inner letters that differ from the next one; none in `xxxxxx`."""
    return [index for index in range(1, len(word) - 2) if word[index] != word[index + 1]]


def _list_vocabulary() -> set[str]:
    words = load_words()
    verbs = {form for verb in words.verbs for forms in (verb.forms, *verb.others) for form in forms}
    synonyms = {*words.synonyms, *(other for others in words.synonyms.values() for other in others)}
    return verbs | synonyms | {*words.imperatives, *words.imperatives.values()} | words.all_protected
