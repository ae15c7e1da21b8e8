"""Plots about the model from what a back-test kept: how early alarms came, and whether risks came true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serving.web.words import number, percent

__all__ = ["Chart", "calibration_chart", "lead_chart", "reliability_chart"]

_LEADS_H: Final = (0, 1, 6, 12, 24, 48, 72, 96, 120, 144, 168)


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot that is not over time, with the same as a table.

    Attributes:
        data: as the script draws it.
        note: how to read it.
    """

    title: str
    data: Mapping[str, Any]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


def lead_chart(cards: Mapping[str, Mapping[str, Any]]) -> Chart | None:
    """Failures foreseen at least so many hours ahead, of each who raised alarms; None where nobody foresaw one."""
    lines = []
    for name, card in cards.items():
        leads, failures = card.get("lead_times_h", []), card.get("failures", 0)
        if failures:
            lines.append((name, [sum(lead >= hours for lead in leads) / failures for hours in _LEADS_H]))
    if not any(value for _, values in lines for value in values):
        return None
    rows = tuple((f"{hours} h", *(percent(values[k]) for _, values in lines)) for k, hours in enumerate(_LEADS_H))
    data = _data([float(h) for h in _LEADS_H], [(name, list(values)) for name, values in lines])
    note = "Of all failures, the share whose alarm stood at least so many hours before."
    return Chart("How early: failures foreseen, by hours ahead", data, ("ahead", *(n for n, _ in lines)), rows, note)


def calibration_chart(card: Mapping[str, Any], horizon_h: int = 24) -> Chart | None:
    """Whether the risks of the back-test came true; None where it kept no risks."""
    found = [each for each in card.get("calibration", []) if each["horizon_h"] == horizon_h]
    if not found:
        return None
    curve = [[b["from_quantile"], b["rows"], b["expected"], b["observed"]] for b in found[0]["curve"]]
    slope, skill = number(found[0]["slope"]), number(found[0]["brier_skill"])
    note = f"Slope {slope} (1 is calibrated), Brier skill {skill} (0 is no better than everyone at the mean)."
    return _bins(f"Did the risks come true? Back-test, within {horizon_h} h", curve, note)


def reliability_chart(facts: Mapping[str, Any]) -> Chart | None:
    """The same on links that training's models had not seen; None where the model does not say."""
    unseen = facts.get("unseen_links")
    if not unseen:
        return None
    slope, skill = number(unseen["calibration_slope"]), number(unseen["brier_skill"])
    note = f"On links that its scorers had not seen. Slope {slope} (1 is calibrated), Brier skill {skill}."
    return _bins(f"Did the risks come true? Training, within {unseen['horizon_h']} h", unseen["reliability"], note)


def _bins(title: str, bins: Sequence[Sequence[float]], note: str) -> Chart | None:
    """Expected share against observed share of each band of risk, from the least to the greatest."""
    known = sorted(
        (expected / rows, observed / rows, quantile, rows) for quantile, rows, expected, observed in bins if rows
    )
    if not known:
        return None
    x = [100.0 * expected for expected, _, _, _ in known]
    lines = [("observed", [100.0 * observed for _, observed, _, _ in known]), ("as expected", list(x))]
    rows = tuple(
        (f"above {percent(quantile)} of links", f"{count:,.0f}", percent(expected), percent(observed))
        for expected, observed, quantile, count in known
    )
    header = ("band of risk", "links and hours", "expected to fail", "failed")
    told = f"{note} Both in per cent; on the line of what is expected, risks are honest."
    return Chart(title, _data(_rising(x), lines), header, rows, told)


def _rising(x: Sequence[float]) -> list[float]:
    """Values that only grow, as a plot wants them."""
    return [value + 1e-9 * k for k, value in enumerate(x)]


def _data(x: Sequence[float], lines: Sequence[tuple[str, list[float]]]) -> dict[str, Any]:
    drawn = [{"label": name, "values": values} for name, values in lines]
    return {"x": list(x), "lines": drawn, "limits": [], "base": [], "marks": [], "time": False, "points": True}
