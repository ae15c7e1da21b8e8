"""What a synthetic fleet is made of: every number with its source, or [judgement] where there is none.

Sources: [table] per-lane limits and alarm thresholds of published modules; [FEC] binomial codeword
arithmetic of RS(544,514) and RS(528,514); [CorrOpt] SIGCOMM 2017; [OCP] Facebook, OCP 2018;
[SFF] SFF-8472, SFF-8636 and CMIS register scaling; [SONiC] its DOM test plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from data_samples.media import MIX, VENDORS, Vendor
from ingest.schema import FailureType

__all__ = ["KINDS", "FleetConfig", "FleetSummary", "Kind"]

DENSE_PER_LINK_YEAR: Final = 2.0
"""The accelerated default of faults that arise by themselves; with touches, infants and bad lots about 3.3."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of failure comes about.

    Attributes:
        share: of all failures (contamination first, then lasers: field studies disagree on the rest) [judgement].
        sudden: part of them that come without any precursor [judgement].
        lead_days: median time from onset to the loss of `FleetConfig.reach` margins for the gradual rest [judgement].
        spread: sigma of that time's lognormal [judgement].
    """

    share: float
    sudden: float
    lead_days: float
    spread: float


KINDS: Final[Mapping[FailureType, Kind]] = MappingProxyType(
    {
        FailureType.LASER_DEGRADATION: Kind(0.28, 0.35, 3.5, 0.9),
        FailureType.CONTAMINATION: Kind(0.26, 0.35, 3.5, 0.9),
        FailureType.FIBER_DAMAGE: Kind(0.11, 0.50, 1.8, 0.7),
        FailureType.RECEIVER_DEGRADATION: Kind(0.10, 0.25, 6.0, 0.7),
        FailureType.MODULE_ELECTRONICS: Kind(0.14, 0.45, 7.0, 0.5),
        FailureType.LOOSE_SEATING: Kind(0.11, 0.35, 2.2, 0.7),
    }
)
"""The mix of failures; shares sum to 1."""


@dataclass(frozen=True, slots=True)
class FleetConfig:
    """Size, time and temper of a synthetic fleet.

    The default density, about 0.35 failures per link in 40 days, is accelerated about a hundredfold so that a
    model has something to learn from; a real fleet sees a few per cent a year: ``failures_per_link_year=0.03``.
    """

    links: int = 300
    days: int = 40
    interval_minutes: int = 15
    seed: int = 1
    start: datetime = datetime(2026, 3, 1, tzinfo=UTC)

    failures_per_link_year: float = DENSE_PER_LINK_YEAR
    """Accelerated; real links: 0.01 to 0.03 (module AFR 0.4 to 1.5 % and as much again of fibre) [judgement]."""
    sudden_share: float | None = None
    """Part of every kind of failure that comes without any precursor; each kind's own where None."""
    gradual_fail_share: float = 0.6
    """Part of gradual onsets that end in a failure: the rest stall, are swapped or outlast the window [judgement]."""
    reach: float = 1.15
    """Lost margin at the median lead time, in typical margins of the medium: most paths fail before it."""
    stall_share: float = 0.45
    """Part of degradations that stop for good [judgement]."""
    stall_level: float = 0.3
    """Mean level at which they do, in typical margins; exponential, so mostly low but at any [judgement]."""
    bad_lot_share: float = 0.1
    bad_lot_factor: float = 5.0
    """Hazard of a module of a bad lot; bad batches are real, the factor is [judgement]."""
    infant_days: float = 14.0
    infant_factor: float = 3.0
    """Hazard in the first fortnight after a swap [OCP: falls after about two weeks; factor judgement]."""

    benign_per_link_month: float = 0.3
    """Harmless steps and bends that recover [judgement]."""
    drains_per_link_month: float = 0.5
    preventive_per_link_month: float = 0.03
    disturb_probability: float = 0.35
    """That hands at a port move its neighbour [judgement]."""
    touch_harm_share: float = 0.35
    """Touches that leave dirt or a loose module, at the default density; they scale with it [judgement]."""
    heat_waves_per_month: float = 2.0
    fan_events_per_device_month: float = 0.3
    gaps_per_device_month: float = 1.2
    reboots_per_device_month: float = 0.25
    clears_per_port_month: float = 0.05
    """Heat, collection gaps, reboots and hands that clear a port's counters [judgement]."""

    late_hours: float = 48.0
    """A ticket opens up to this long after the failure [judgement]."""
    wrong_type: float = 0.10
    wrong_end: float = 0.08
    missing_serial: float = 0.03
    no_fault_found: float = 0.12
    unknown_port: float = 0.01
    false_tickets: float = 0.06
    """Ticket noise: names typed wrong, and tickets about nothing as a share of failures [judgement; that most
    failure analyses find no failed optic: Facebook, InterPACK 2019]."""
    first_action_right: float = 0.65
    """Between 0.5 before and 0.8 after technicians follow advice [CorrOpt]."""
    fast_repair: float = 0.80
    """Part repaired within two days; the rest takes four [CorrOpt]."""

    media: Mapping[str, float] = field(default_factory=lambda: MappingProxyType(MIX))
    """Share of each medium among optical links, by its name; shares sum to 1."""
    vendors: tuple[Vendor, ...] = VENDORS
    """Makers of the modules; their shares sum to 1."""
    silent_nic: float = 0.35
    """Servers' ends without any telemetry [judgement]."""
    copper: float = 0.08
    """Links on copper: counters, no DOM [judgement]."""
    ber_exposure: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"lane": 0.40, "port": 0.35, "none": 0.25})
    )
    """Where a port tells its pre-FEC BER [judgement]."""
    flag_exposure: float = 0.6
    """Ports whose LOS, fault and CDR flags and read errors are collected [judgement]."""
    missing: float = 0.012
    glitch: float = 2e-5
    stuck: float = 0.04
    """Missing samples, glitches a cell, ports with a stuck sensor [judgement; SONiC: 0.5 % missing]."""

    @property
    def touch_harms(self) -> float:
        """Probability that a touch does harm."""
        return min(self.touch_harm_share * self.failures_per_link_year / DENSE_PER_LINK_YEAR, 0.5)

    @property
    def steps(self) -> int:
        """Samples of each port."""
        return self.days * 24 * 60 // self.interval_minutes

    @property
    def steps_per_day(self) -> float:
        """Samples a day."""
        return 24 * 60 / self.interval_minutes

    def time(self, step: int) -> datetime:
        """The time of a step; steps before 0 are before the start."""
        return self.start + timedelta(minutes=self.interval_minutes * step)


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """What was generated. Shares and counts are of the truth, not of the tickets."""

    links: int
    ports_with_telemetry: int
    rows: int
    failures: int
    without_precursor: int
    stalled: int
    tickets: int
