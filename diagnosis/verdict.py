"""One answer from all layers: is it the network, the host, congestion, or is the network innocent?

The strongest evidence speaks first: a link that loses packets, then hosts, then standing queues. Innocent is said only
where everything that matters would have been seen; else it is not known, and how many windows would do is told. Layers
that were not looked at are named, and no score is made up for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from diagnosis.fabric import Fabric
from diagnosis.innocence import AllClear, Suspicion, all_clear, loss_of
from diagnosis.localize import Finding, Localization
from diagnosis.parts import EndChange, PartVerdict, faulty_part
from diagnosis.probes import Cause, ProbeFinding

__all__ = ["LAYERS", "Case", "Kind", "Priority", "Step", "Verdict", "judged"]

_SURE: Final = 0.95
_TOLERANCE: Final = 0.05
"""A job that is slower by so much is degraded [judgement]."""
LAYERS: Final = ("collectives", "flows", "pfc", "probes", "ways", "port counters", "optic risk", "dom")
"""From the application down to the light."""
_HOSTS: Final = frozenset({Cause.HOST_DOWN, Cause.HOST_STALLED, Cause.HOST_STARVED, Cause.NIC_DOWN})


class Kind(StrEnum):
    """What it is."""

    NETWORK_FAULTY = "network_faulty"
    HOST = "host"
    CONGESTION = "congestion"
    INNOCENT = "innocent"
    INCONCLUSIVE = "inconclusive"


class Priority(StrEnum):
    """How soon somebody should look, as R-Pingmesh ranks it."""

    P0 = "P0"  # on the job's paths, and the job is slower than it may be
    P1 = "P1"  # on the job's paths, and the job bears it
    P2 = "P2"  # elsewhere


@dataclass(frozen=True, slots=True)
class Step:
    """What one layer says."""

    layer: str
    says: str


@dataclass(frozen=True)
class Case:
    """All that is known of one question.

    Attributes:
        links: directed links that it is about: those of a job's paths, or the two of a cable.
        told: the localiser's answer, of some windows together.
        windows: how many.
        devices: (site, device) that take part.
        noticed: what the windows showed before links were looked at.
        changes: readings of the module that sends on a directed link, by that link.
        risk: the optic's risk of a directed link, where it was scored.
        seen_layers: layers that had anything to say, probes aside.
        slowdown: how much slower the job is than it should be; None where nobody said.
        of_job: whether the links are a job's.
    """

    fabric: Fabric
    links: frozenset[int]
    told: Localization
    windows: int
    devices: frozenset[tuple[str, str]] = frozenset()
    noticed: Sequence[ProbeFinding] = ()
    changes: Mapping[int, EndChange] = field(default_factory=dict)
    risk: Mapping[int, float] = field(default_factory=dict)
    seen_layers: frozenset[str] = frozenset()
    slowdown: float | None = None
    of_job: bool = False

    @property
    def sla(self) -> float:
        """Loss that would matter: the one that explains the slowdown, and one in a thousand where none is told."""
        return 1e-3 if not self.slowdown else min(loss_of(self.slowdown), 1e-3)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer.

    Attributes:
        finding: the fault, where it is the network's.
        part: of the link, where one link is named.
        power: how well an all-clear was looked for.
        chain: what each layer says, from the application down.
        missing: layers that said nothing.
        elsewhere: faults that are not on these links.
    """

    kind: Kind
    why: str
    priority: Priority | None
    finding: Finding | None
    part: PartVerdict | None
    power: AllClear
    chain: tuple[Step, ...]
    missing: tuple[str, ...]
    elsewhere: tuple[Finding, ...] = ()


def judged(case: Case) -> Verdict:
    """The verdict on a case."""
    here = [finding for finding in case.told.findings if case.links.intersection(finding.links)]
    elsewhere = tuple(finding for finding in case.told.findings if finding not in here)
    power = all_clear(case.told, Suspicion(case.links, case.sla), case.windows)
    sure = [finding for finding in here if finding.posterior >= _SURE and finding.located]
    kind, why = _kind(case, sure, here, power)
    finding = next(iter(sure or here), None) if kind in {Kind.NETWORK_FAULTY, Kind.INCONCLUSIVE} else None
    part = _part(case, finding) if finding is not None and finding.first is not None else None
    chain = tuple(_chain(case, finding, part))
    missing = tuple(layer for layer in LAYERS if layer not in {step.layer for step in chain} | case.seen_layers)
    priority = _priority(case, kind, bool(elsewhere))
    return Verdict(kind, why, priority, finding, part, power, chain, missing, elsewhere)


def _kind(case: Case, sure: list[Finding], here: list[Finding], power: AllClear) -> tuple[Kind, str]:
    if sure:
        return Kind.NETWORK_FAULTY, f"{named(case.fabric, sure[0])} loses {sure[0].loss:.2%} of its packets"
    for kind, causes in ((Kind.HOST, _HOSTS), (Kind.CONGESTION, {Cause.CONGESTION})):
        if found := [notice for notice in case.noticed if notice.cause in causes and _concerns(case, notice)]:
            return kind, f"{found[0].subject}: {found[0].detail}"
    if here:
        return Kind.INCONCLUSIVE, f"{named(case.fabric, here[0])} may lose packets: P {here[0].posterior:.2f}"
    if power.innocent:
        return Kind.INNOCENT, f"no link loses packets; a loss of {power.least_loss:.2%} of any would have been found"
    return Kind.INCONCLUSIVE, _unknown(case, power)


def _unknown(case: Case, power: AllClear) -> str:
    if not case.links:
        return "no path is known"
    if power.suspected:
        return f"{case.fabric.named(power.suspected[0])} is suspected, of less loss than a finding needs"
    if power.more_windows is None:
        return f"probes do not cross {len(power.unseen)} of {len(case.links)} links, or far too few of them do"
    return f"a loss of {power.least_loss:.2%} could have passed unseen, {case.sla:.2%} would matter"


def _concerns(case: Case, notice: ProbeFinding) -> bool:
    """Whether a notice is about these links or devices."""
    if notice.links:
        return bool(case.links.intersection(notice.links))
    words = {notice.subject, notice.subject.partition(":")[0], *notice.subject.split(", ")}
    return any(name in words or f"{site}/{name}" in words for site, name in case.devices)


def _part(case: Case, finding: Finding) -> PartVerdict:
    link = finding.links[0]
    return faulty_part(case.changes.get(link, EndChange()), case.changes.get(link ^ 1, EndChange()))


def _chain(case: Case, finding: Finding | None, part: PartVerdict | None) -> list[Step]:
    """What each layer says, the application's first."""
    steps = []
    if case.slowdown is not None:
        steps.append(Step("job", f"{case.slowdown:.1%} slower than it should be"))
    steps += [
        Step("probes", f"{notice.subject}: {notice.detail}") for notice in case.noticed if _concerns(case, notice)
    ]
    if finding is not None:
        crossed = f"{named(case.fabric, finding)} loses {finding.loss:.2%}"
        steps.append(Step("probes", f"{crossed}, log-likelihood ratio {finding.gain:.1f}, P {finding.posterior:.3f}"))
        steps += [
            Step("optic risk", f"{case.fabric.named(link)}: P(failure within a day) {case.risk[link]:.3f}")
            for link in finding.links
            if link in case.risk
        ]
    if part is not None:
        steps.append(Step("dom", f"{part.part}: {part.why}"))
    return steps


def _priority(case: Case, kind: Kind, elsewhere: bool) -> Priority | None:
    if kind in {Kind.NETWORK_FAULTY, Kind.CONGESTION}:
        slow = case.slowdown is not None and case.slowdown > _TOLERANCE
        return (Priority.P0 if slow else Priority.P1) if case.of_job else Priority.P2
    return Priority.P2 if elsewhere else None


def named(fabric: Fabric, finding: Finding) -> str:
    """The links of a finding as people read them."""
    return " or ".join(fabric.named(link) for link in finding.links)
