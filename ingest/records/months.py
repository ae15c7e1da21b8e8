"""Dates whose month is a word, in English or German, as a number: whoever wrote them meant one day and no other."""

import re
from typing import Final

__all__ = ["numbered"]

_WORDS: Final = (
    "jan january januar jaenner",
    "feb february februar",
    "mar march mrz maerz mär märz",
    "apr april",
    "may mai",
    "jun june juni",
    "jul july juli",
    "aug august",
    "sep sept september",
    "oct october okt oktober",
    "nov november",
    "dec december dez dezember",
)
_MONTHS: Final = {word: number for number, words in enumerate(_WORDS, 1) for word in words.split()}
_WEEKDAY: Final = re.compile(r"(?i)(?:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so)[^\W\d]{0,8}\.?,? *")
_DAY_FIRST: Final = re.compile(r"(?i)(\d{1,2})(?:st|nd|rd|th)?[. /-]+([^\W\d]{3,9})\.?[ ,/-]+(\d{4}|\d{2})(?!\d)")
_MONTH_FIRST: Final = re.compile(r"(?i)([^\W\d]{3,9})\.?[ /-]+(\d{1,2})(?:st|nd|rd|th)?[ ,/-]+(\d{4})(?!\d)")
_LONGEST: Final = 60


def numbered(text: str) -> str:
    """The same text, its date as year, month and day; unchanged where no month is named.

    >>> numbered("Tue, March 4th, 2026 4:10 PM"), numbered("13. März 2026 14:05 Uhr")
    ('2026-03-04 4:10 PM', '2026-03-13 14:05')
    >>> numbered("13-Feb-26 14:05"), numbered("03/04/2026 10:00")
    ('2026-02-13 14:05', '03/04/2026 10:00')
    """
    if len(text) > _LONGEST:
        return text
    day_first, month_first = _DAY_FIRST.search(text), _MONTH_FIRST.search(text)
    if day_first and (month := _MONTHS.get(day_first[2].casefold())):
        found, day, year = day_first, day_first[1], day_first[3]
    elif month_first and (month := _MONTHS.get(month_first[1].casefold())):
        found, day, year = month_first, month_first[2], month_first[3]
    else:
        return text
    before, after = text[: found.start()], text[found.end() :]
    if before.strip() and not _WEEKDAY.fullmatch(before):
        return text
    clock = re.sub(r"^(?:,? +at|,? +um|,| -)? *", "", after)
    clock = re.sub(r" *(?:uhr|h)$", "", clock, flags=re.IGNORECASE)
    return f"{year if len(year) > 2 else '20' + year}-{month:02}-{int(day):02} {clock}".strip()  # noqa: PLR2004
