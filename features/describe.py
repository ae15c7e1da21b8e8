"""The page docs/features.md, made of the catalogue: ``python -m features.describe > docs/features.md``."""

import inspect
import re
import sys
from typing import Final

from features.catalogue import CATALOGUE, FACTS, Fact, Feature
from features.pipeline import LINK_FEATURES

__all__ = ["columns", "describe"]

_RISK: Final = {1: "more", -1: "less", 0: "either"}

_HEAD: Final = """# Features

What the model looks at: {columns} columns a row, a row for each end of a link and hour.
Made by `python -m features.describe`; a test compares.

- A row holds the end's own features, the same of the far end with `peer_` in front (missing where it is silent), and
  those of the link.
- A window is whole hours before the time of the row; one of more than three days begins at a midnight (UTC). Nothing
  that was received later is in it.
- Baseline: the median of the whole days (UTC) of the fortnight before the newest day, each the median of its hours,
  since the installation was last touched. Until there is a day with twelve hours, its first twelve hours serve; where
  fewer than three hours are known there is none, and what needs it is missing.
- `rx`, `tx`: received and launched power (dBm) · `bias`: natural logarithm of the laser's current (mA), less 0.65 % a
  degree · `ber`: log10 of the pre-FEC bit error ratio, of the lanes or the port, else from corrected codewords ·
  `temp` (°C) · `volt` (V). Of a module's lanes the worst one speaks.
- *Risk with* says what physics allows: with `more` the model may only let risk rise as the column rises, with `less`
  only as it falls, with `either` it may do both.
- No device, vendor, part number or serial is among them.
"""


def _summary(feature: Feature) -> str:
    doc = inspect.getdoc(type(feature)) or ""
    return " ".join(doc.split("\n\n")[0].split())


def _table(rows: list[tuple[str, int, str]]) -> str:
    told = any(text for _, _, text in rows)
    lines = ["| column | risk with |" + (" meaning |" if told else ""), "|---|---|" + ("---|" if told else "")]
    lines += [f"| `{name}` | {_RISK[sign]} |" + (f" {text} |" if told else "") for name, sign, text in rows]
    return "\n".join(lines)


def columns() -> list[tuple[str, int, str]]:
    """Every column of `features.pipeline.FeaturePipeline` with its sign and meaning, in its order."""
    own = [
        (each.name, each.sign, FACTS[each.name][0] if isinstance(each, Fact) else _summary(each)) for each in CATALOGUE
    ]
    far = [(f"peer_{name}", sign, f"At the far end: {text}") for name, sign, text in own]
    return [*own, *far, *((name, sign, text) for name, (sign, text) in LINK_FEATURES.items())]


def describe() -> str:
    """The page, every column of `features.pipeline.FeaturePipeline` named in it."""
    parts = [_HEAD.format(columns=2 * len(CATALOGUE) + len(LINK_FEATURES))]
    kinds: dict[type, list[Feature]] = {}
    for feature in CATALOGUE:
        kinds.setdefault(type(feature), []).append(feature)
    facts = kinds.pop(Fact)
    for kind, features in kinds.items():
        title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).capitalize()
        rows = [(feature.name, feature.sign, "") for feature in features]
        parts.append(f"## {title}\n\n{_summary(features[0])}\n\n{_table(rows)}\n")
    told = [(feature.name, feature.sign, FACTS[feature.name][0]) for feature in facts]
    parts.append(f"## From the records\n\n{_table(told)}\n")
    links = [(name, sign, text) for name, (sign, text) in LINK_FEATURES.items()]
    parts.append(f"## Of the link\n\n{_table(links)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(describe())
