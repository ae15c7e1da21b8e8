"""What hurts those who act on alarms, row by row of what is known of consumers, and the tests that show it does not.

The rows are those of the survey of consumers: NVSentinel's fields and semantics, other automation, the contract that
follows, what operators of model services expect. Where forelight has no adapter for a consumer, the row stands for the
semantics that its kind of automation rests on.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

_S: Final = "tests/serving/adapters/test_nvsentinel.py::test_"
_K: Final = "tests/serving/adapters/test_node_condition.py::test_"
_D: Final = "tests/serving/adapters/test_delivering.py::"
_A: Final = "tests/serving/test_api_alarms.py::"
_P: Final = "tests/models/test_policy.py::"
_READY: Final = "tests/serving/test_ready_models.py::test_"
_U: Final = "tests/serving/test_upkeep.py::TestExpiry::"
_DESK: Final = "tests/serving/drains/test_desk.py::test_"

NVSENTINEL: Final = {
    "version, agent, componentClass, checkName": (f"{_S}a_forecast_is_an_event_of_its_node_and_never_fatal",),
    "isFatal, isHealthy: a forecast is not fatal, a clear is the same key": (
        f"{_S}a_forecast_is_an_event_of_its_node_and_never_fatal",
        f"{_S}what_takes_it_back_has_the_same_key_whatever_was_found_out_since",
    ),
    "message: at most 1024 characters once rendered": (f"{_S}a_message_fits_once_codes_and_action_are_put_around_it",),
    "recommendedAction: the published numbers": (f"{_S}the_bytes_are_those_of_the_published_numbers",),
    "errorCode, entitiesImpacted": (f"{_S}a_forecast_is_an_event_of_its_node_and_never_fatal",),
    "metadata: probability, horizon, model version, alarm id, influencers": (
        f"{_S}a_forecast_is_an_event_of_its_node_and_never_fatal",
    ),
    "generatedTimestamp, nodeName, id: the host at the far end": (
        f"{_S}each_node_has_its_event_and_no_node_none",
        f"{_D}TestState::test_only_nodes_that_are_known_and_the_same_ones_for_its_whole_life",
    ),
    "quarantineOverrides, drainOverrides: left empty": (f"{_S}nothing_is_forced_or_skipped_in_the_consumers_place",),
    "processingStrategy: store only in shadow": (f"{_S}in_shadow_events_are_stored_only",),
    "transport: TLS, token, idempotency-key, acknowledged when stored, retried": (
        f"{_S}what_is_tried_again_has_the_same_idempotency_key_and_what_is_said_anew_another",
        f"{_S}a_server_is_trusted_by_its_certificate_only",
        f"{_S}a_status_tells_whether_to_try_again",
        f"{_S}nobody_there_costs_its_timeout_at_most",
    ),
    "de-duplication by node, check, entities, codes, strategy, health": (
        f"{_S}what_takes_it_back_has_the_same_key_whatever_was_found_out_since",
        f"{_D}TestState::test_what_stands_is_told_once_and_its_end_once",
    ),
    "a breaker at half of the nodes": (f"{_K}no_more_nodes_than_allowed_are_tainted",),
    "noise is the main cost: of 190,000 events a day 99 % ask for nothing": (
        "tests/serving/adapters/test_config.py::test_where_automation_acts_watch_alarms_are_not_told_unless_asked_for",
        "tests/models/test_policy_fit.py::TestFit::test_watch_costs_its_budget",
        f"{_D}TestState::test_what_stands_is_told_once_and_its_end_once",
    ),
    "a forgotten request keeps the node cordoned": (
        f"{_U}test_an_alarm_of_which_no_run_speaks_expires_in_whatever_state_it_stands",
        f"{_D}TestState::test_where_scores_are_too_old_what_stands_is_taken_back_until_there_are_new_ones",
    ),
    "a dated forecast: when it is expected": (
        "tests/serving/drains/test_advice.py::test_the_deadline_is_when_the_failure_is_expected_at_the_earliest",
    ),
    "an RMA is handed over with its evidence": (
        "tests/serving/drains/test_cli_decisions.py::test_the_evidence_for_a_return_is_one_page",
    ),
}

OTHERS: Final = {
    "node-problem-detector: a condition stays until it is over; not known is Unknown": (
        f"{_K}a_node_on_two_links_is_free_when_the_last_alarm_is_over",
        f"{_K}where_scores_are_too_old_the_condition_is_unknown_and_the_taint_gone",
    ),
    "draino: cordons at once on a condition's name": (
        f"{_K}a_node_gets_condition_and_taint_and_keeps_those_of_others",
        f"{_D}TestState::test_an_alarm_below_the_level_is_told_of_when_it_reaches_it",
    ),
    "medik8s: hysteresis is for how long a condition holds": (
        f"{_K}since_when_a_node_is_at_risk_stays_while_what_is_said_of_it_changes",
        f"{_K}what_is_so_already_is_not_written_again",
    ),
    "kured: any alert that fires blocks, and a query that fails": (
        "tests/serving/test_prometheus.py::test_the_rules_fire_when_they_should_and_only_then",
        "tests/serving/test_prometheus.py::TestOneByOne::test_stale_scores_tell_nothing_of_anybody",
        "tests/serving/test_api_health.py::TestMetrics::test_a_store_that_fails_is_told_not_a_failed_scrape",
        "tests/serving/adapters/test_alertmanager.py::test_a_predictor_that_is_dead_holds_nothing",
    ),
    "Slurm and mej/nhc: only what bears our own note is taken back": (
        f"{_K}both_are_taken_back",
        f"{_DESK}who_holds_a_lease_gives_it_back_and_nobody_else",
        f"{_DESK}a_drain_that_nobody_asked_for_counts_as_out",
    ),
    "azurehpc: five losses of carrier in 24 h": (
        "tests/models/baselines/test_flaps.py::test_the_fifth_loss_of_carrier_within_a_day_complains",
    ),
    "gpud: unknown is a state of its own, with a reason": (
        "tests/serving/test_api_transceivers.py::test_what_cannot_be_scored_is_unknown_and_says_why",
        "tests/serving/drains/test_advice.py::test_an_unscored_link_is_unknown_even_with_an_alarm",
    ),
    "UFM's unhealthy ports: a port instead of a node where the trunk is redundant": (
        "tests/serving/drains/test_advice.py::test_the_cheapest_that_the_level_allows_is_advised",
        "tests/serving/drains/test_advice.py::test_a_server_gets_no_new_jobs_for_its_link_has_no_other",
        "tests/serving/drains/test_guard.py::test_links_seen_down_count_like_drained_ones",
    ),
    "UFM Cyber-AI: alarms by time, severity and probability": (f"{_A}TestList::test_filters",),
    "UFM IBLR: actions that were not taken are counted, by kind of link and mode": (
        f"{_DESK}in_shadow_nothing_is_leased_and_what_would_have_been_is_told",
        "tests/serving/drains/test_after_run.py::test_a_run_writes_down_what_it_advises_once",
    ),
}

CONTRACT: Final = {
    "1 the entity is an installation; affected nodes are known or none, never guessed": (
        f"{_A}TestNodes::test_a_server_at_either_end_is_an_affected_node",
        f"{_D}TestState::test_only_nodes_that_are_known_and_the_same_ones_for_its_whole_life",
    ),
    "2 an alarm has a deterministic id, a state, a calibrated risk, a window, reasons, a model": (
        f"{_A}TestList::test_an_alarm_carries_all_columns_of_the_csv",
        "tests/serving/test_store.py::TestApply::test_the_same_run_twice_changes_nothing",
        "tests/models/test_alarm.py::TestIdentity::test_the_same_link_and_time_are_the_same_alarm",
    ),
    "3 lists by since and cursor, the re-check just before acting, idempotent steps, ETag": (
        "tests/serving/test_store.py::TestFilters::test_since_selects_what_changed_so_that_a_poller_sees_clears",
        "tests/serving/test_pages_property.py::test_a_walk_meets_what_was_there_exactly_once",
        f"{_A}TestOne::test_a_changed_alarm_has_another_tag",
        "tests/serving/test_api_steps.py::TestIdempotency::test_the_same_again_is_answered_the_same_and_done_once",
        "tests/serving/test_api_steps.py::TestConcurrency::test_of_two_who_saw_the_same_one_wins",
    ),
    "4 a forecast is not fatal; the action is advice": (
        f"{_S}a_forecast_is_an_event_of_its_node_and_never_fatal",
        "tests/serving/drains/test_advice.py::test_the_costs_of_all_that_may_be_done_are_told",
    ),
    "5 N of M to open, a lower limit to clear, explicit clears, a time to live": (
        f"{_P}TestRaise::test_two_of_the_last_three_scores_must_reach_the_threshold_the_newest_among_them",
        f"{_P}TestStanding::test_it_ends_when_risk_has_stayed_low_for_a_day",
        "tests/serving/deliveries/test_outbox.py::test_a_clear_by_a_run_is_delivered_like_any",
        f"{_U}test_the_service_does_it_though_no_predictor_runs_and_tells_of_it_though_scores_are_stale",
    ),
    "6 blast radius: one storm event, the rest held back; limits by device, tier, fleet and hour": (
        "tests/serving/test_notices.py::test_a_storm_is_one_message_however_many_alarms_it_held_back",
        "tests/serving/scoring/test_scorer.py::TestAlarms::test_a_storm_on_a_device_is_held_back",
        "tests/serving/test_storms.py::test_they_are_told_with_their_reason_and_nothing_stands",
        "tests/serving/drains/test_guard.py::test_so_much_may_be_out_at_once",
        "tests/serving/drains/test_after_run.py::test_a_storm_puts_active_classes_back_to_shadow",
    ),
    "7 both ends raise: one alarm a link, the more suspect end named": (
        "tests/serving/test_store.py::TestApply::test_a_fault_unit_has_one_standing_alarm",
        "tests/serving/scoring/test_scorer.py::TestScores::test_both_ends_of_a_link_are_given_the_same_risk",
        "tests/serving/test_api_transceivers.py::test_the_standing_alarm_of_its_link_is_named_at_both_ends",
    ),
    "8 stale or missing is unknown, never healthy": (
        f"{_A}TestStaleness::test_stale_scores_are_an_error_not_an_all_clear",
        f"{_A}TestStaleness::test_no_scores_are_an_error_not_an_all_clear",
        "tests/serving/drains/test_api_links.py::TestDecision::test_stale_scores_are_an_error",
        "tests/serving/drains/test_guard.py::test_an_old_or_future_state_of_the_links_is_no_ground",
        "tests/serving/test_api_hot.py::TestNode::test_a_node_that_nobody_knows_is_an_error_not_an_all_clear",
    ),
    "9 every adapter has a dry run": (
        f"{_D}TestOverTheWire::test_a_dry_run_of_a_consumer_sends_nothing_and_says_what_it_would",
        "tests/serving/test_cli_deliver.py::test_a_dry_run_prints_what_would_be_sent_and_sends_nothing",
    ),
}

SERVICE: Final = {
    "MLflow: served by any tool that reads it, by alias": (
        "tests/models/test_registry.py::TestServed::test_mlflow_serves_what_the_model_says",
        "tests/models/test_registry.py::TestServed::test_mlflow_models_serve_answers",
    ),
    "BentoML: not ready until the model is loaded; requests counted by code": (
        f"{_READY}with_champion_and_fresh_scores_it_is_ready_and_asks_for_nothing_twice",
        f"{_READY}a_champion_that_cannot_be_loaded_is_not_ready_where_none_is_in_memory",
        "tests/serving/test_api_health.py::TestMetrics::test_requests_are_counted_by_template_not_by_path",
    ),
    "Evidently, NannyML: drift, and expected performance before labels": (
        "tests/models/test_drift.py::TestShift::test_a_feature_that_was_moved_is_named",
        "tests/models/test_drift.py::TestReference::test_expected_worth_comes_true_where_risks_are_calibrated",
    ),
    "/readyz: model loaded, schema equal, data fresh": (
        f"{_READY}a_champion_that_cannot_be_loaded_is_not_ready_where_none_is_in_memory",
        "tests/serving/test_api_health.py::TestReadiness::test_without_a_schema_it_is_not",
        "tests/serving/test_api_health.py::TestReadiness::test_with_old_readings_it_is_not",
    ),
    "/version: model, version, alias, training window, threshold, feature schema": (
        "tests/serving/test_api_health.py::TestVersion::test_it_names_program_schema_and_model",
        f"{_READY}the_version_tells_what_the_champion_in_memory_was_trained_on",
    ),
}

ROWS: Final = {**NVSENTINEL, **OTHERS, **CONTRACT, **SERVICE}


@cache
def _nodes(file: Path) -> frozenset[str]:
    """Tests of a file as pytest names them, without parameters."""

    def walk(body: list[ast.stmt], before: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield before + node.name
            elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                yield from walk(node.body, f"{before}{node.name}::")

    return frozenset(walk(ast.parse(file.read_text(encoding="utf-8")).body, ""))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_tests_that_there_are(row: str) -> None:
    """A test that is renamed or goes away leaves its row bare, and this fails."""
    missing = []
    for named in ROWS[row]:
        file, _, node = named.partition("::")
        if not (ROOT / file).is_file() or node not in _nodes(ROOT / file):
            missing.append(named)

    assert ROWS[row]
    assert [] == missing


def test_no_row_is_named_twice() -> None:
    """Else one would hide another."""
    assert len(ROWS) == sum(len(part) for part in (NVSENTINEL, OTHERS, CONTRACT, SERVICE))
