"""Free text into a word of a fixed vocabulary, by a table of phrases that the operator can edit.

A phrase is found where its words follow each other in the text; case, punctuation and the end of its last word do not
count, so that ``clean`` finds "Cleaned" (a word of three letters, as ``ntf``, stands for itself alone). Of phrases that
overlap the longer one counts: "no fault found" is no fault. A phrase right behind "no" or "not" is not said. Umlauts
are as good as their two letters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Found", "Phrases"]

_SHORT: Final = 3
_NOT: Final = frozenset(
    ("no", "not", "non", "never", "without", "nicht", "kein", "keine", "keinen", "keiner", "keinerlei", "ohne", "nie")
)
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


@dataclass(frozen=True, slots=True)
class Found:
    """A word, by which phrase, and where in the text that stood."""

    word: str
    phrase: str
    start: int
    end: int


class Phrases:
    """A table of phrases.

    >>> table = Phrases({"contamination": ["dirty", "clean"], "no_fault_found": ["no fault found", "ntf"]})
    >>> table.strongest("Cleaned the LC, was DIRTY").word, table.strongest("NTF."), table.strongest("ok")
    ('contamination', Found(word='no_fault_found', phrase='ntf', start=0, end=3), None)

    Args:
        table: word to its phrases; the word itself, with blanks, is one of them.
    """

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        self._patterns = [
            (str(word), phrase, re.compile(rf"\b{plain_phrase}{_end(phrase)}"))
            for word, phrases in table.items()
            for phrase in (*phrases, str(word).replace("_", " "))
            if (plain_phrase := _plain(phrase))
        ]

    def all(self, text: str) -> list[Found]:
        """All that is found, in the order of the text, without what lies within something longer."""
        plain = _plain(text)
        found = [
            Found(word, phrase, match.start(), match.start() + len(_plain(phrase)))
            for word, phrase, pattern in self._patterns
            for match in pattern.finditer(plain)
            if plain[: match.start()].rpartition(" ")[0].rpartition(" ")[2] not in _NOT
        ]
        found.sort(key=lambda each: (each.start - each.end, each.start))
        kept: list[Found] = []
        for each in found:
            if all(each.end <= other.start or each.start >= other.end for other in kept):
                kept.append(each)
        return sorted(kept, key=lambda each: each.start)

    def strongest(self, text: str) -> Found | None:
        """By the longest phrase; of two as long the one that is said later."""
        return max(self.all(text), key=lambda each: (each.end - each.start, each.start), default=None)

    def last(self, text: str) -> Found | None:
        """By what is said last: what was done in the end."""
        found = self.all(text)
        return found[-1] if found else None


def _end(phrase: str) -> str:
    """What may follow: more of the last word, unless that is so short that it would be found in others."""
    return r"\b" if len(phrase.rsplit(maxsplit=1)[-1]) <= _SHORT else r"\w*"


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold().translate(_UMLAUTS).replace("_", " ")))
