"""What faults do to light, and light to errors."""

from dataclasses import replace

import numpy as np
import pytest

from data_samples.config import FleetConfig
from data_samples.environment import Environment
from data_samples.faults import Fault, sudden
from data_samples.history import _Simulation
from data_samples.layout import build_links
from data_samples.physics import Light, State, first_failure, healthy_margin, light
from ingest.schema import FailureType

CALM = FleetConfig(
    links=60, days=3, seed=5, failures_per_link_year=0.0, benign_per_link_month=0.0, heat_waves_per_month=0.0
)


@pytest.fixture(name="states", scope="module")
def _states() -> dict[str, State]:
    """A healthy link of each laser technology."""
    simulation = _Simulation(CALM, build_links(CALM))
    return {state.link.media.laser: state for state in simulation.history.states if state.link.kind == "fiber"}


@pytest.fixture(name="env", scope="module")
def _env() -> Environment:
    return Environment(CALM)


def _ramp(state: State, mode: str, top_db: float) -> State:
    """The same link with a fault at end 0 that grows evenly to a level."""
    lanes = np.ones(state.link.media.lanes, bool)
    level = np.linspace(0, top_db, CALM.steps, dtype=np.float32)
    kind = FailureType.LASER_DEGRADATION
    return replace(state, faults=[Fault(kind, mode, 0, (True, False), lanes, 0, level, CALM.steps)])


def _light(state: State, env: Environment, direction: int = 0) -> Light:
    return light(state, env, 0, CALM.steps, direction)


@pytest.mark.parametrize("laser", ["dml", "eml", "siph"])
def test_power_control_holds_tx_until_bias_is_at_its_limit(
    states: dict[str, State], env: Environment, laser: str
) -> None:
    state = states[laser]
    headroom_db = state.module(0, 0).headroom_db

    healthy, aged = _light(state, env), _light(_ramp(state, "laser", headroom_db), env)

    assert np.abs(aged.tx_dbm - healthy.tx_dbm).max() <= 0.1001
    assert np.all(aged.bias_factor[:, -1] / healthy.bias_factor[:, -1] > 1.2)


def test_past_the_limit_tx_and_the_far_rx_fall_together(states: dict[str, State], env: Environment) -> None:
    state = states["siph"]
    headroom_db = state.module(0, 0).headroom_db

    healthy, aged = _light(state, env), _light(_ramp(state, "laser", headroom_db + 2.0), env)

    assert (healthy.tx_dbm - aged.tx_dbm)[:, -1] == pytest.approx(2.1, abs=0.01)
    assert (healthy.rx_dbm - aged.rx_dbm)[:, -1] == pytest.approx(2.1, abs=0.01)


def test_a_vcsel_has_no_power_control_so_its_bias_says_nothing(states: dict[str, State], env: Environment) -> None:
    state = states["vcsel"]

    healthy, aged = _light(state, env), _light(_ramp(state, "laser", 1.0), env)

    assert np.array_equal(healthy.bias_factor, aged.bias_factor)
    assert (healthy.tx_dbm - aged.tx_dbm)[:, -1] == pytest.approx(1.0, abs=0.01)


def test_dirt_dims_one_direction_only(states: dict[str, State], env: Environment) -> None:
    state = states["vcsel"]

    dirty = _ramp(state, "path", 2.0)

    assert (_light(state, env).rx_dbm - _light(dirty, env).rx_dbm)[:, -1] == pytest.approx(2.0, abs=0.01)
    assert np.array_equal(_light(state, env, 1).rx_dbm, _light(dirty, env, 1).rx_dbm)


def test_a_dying_receiver_reads_the_same_power_and_errs_more(states: dict[str, State], env: Environment) -> None:
    state = states["siph"]

    ill = _ramp(state, "receiver", float(healthy_margin(state, 0, 1).max()))

    assert np.array_equal(_light(state, env, 1).rx_dbm, _light(ill, env, 1).rx_dbm)
    assert np.all(_light(ill, env, 1).log10_ber[:, -1] > _light(state, env, 1).log10_ber[:, -1] + 2)


def test_errors_stay_on_their_floor_until_the_last_two_decibels(states: dict[str, State], env: Environment) -> None:
    state = states["siph"]
    margin_db = float(healthy_margin(state, 0, 0).min())

    floor, dim, dimmer = (
        _light(_ramp(state, "path", top), env).log10_ber[:, -1].max() for top in (0.0, margin_db - 3.0, margin_db)
    )

    assert dim == pytest.approx(floor, abs=0.5)
    assert dimmer > floor + 3


def test_bias_follows_the_heat_by_about_half_a_percent_a_degree(states: dict[str, State], env: Environment) -> None:
    for state in states.values():
        heat = env.temperature_c(state.link.ends[0], state.link.media.temperature_c)
        slope = np.polyfit(heat, _light(state, env).bias_factor[0], 1)[0]

        assert 0.0045 <= slope <= 0.0065


def test_a_healthy_link_never_fails(states: dict[str, State], env: Environment) -> None:
    assert [None] * len(states) == [first_failure(state, env, 0, CALM) for state in states.values()]


@pytest.mark.parametrize("mode", ["laser", "eye", "path", "receiver", "host"])
def test_a_fault_that_grows_fails_when_errors_pass_the_fec_limit(
    states: dict[str, State], env: Environment, mode: str
) -> None:
    failed = first_failure(_ramp(states["eml"], mode, 9.0), env, 0, CALM)

    assert failed is not None
    assert 0 < failed < CALM.steps


@pytest.mark.parametrize("kind", [kind for kind in FailureType if kind not in ("no_fault_found", "other")])
def test_a_sudden_fault_fails_at_its_onset(states: dict[str, State], env: Environment, kind: FailureType) -> None:
    state = states["siph"]
    fault = sudden(np.random.default_rng(1), CALM, state.link.media, kind, 0, 100)

    assert 100 == first_failure(replace(state, faults=[fault]), env, 0, CALM)
