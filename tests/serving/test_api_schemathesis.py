"""Requests made from our own OpenAPI: what is answered is what the contract says, and never a failure of ours."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import CHECKS
from schemathesis.core.failures import FailureGroup

from ingest.lake import Lake
from ingest.schema import SCORES
from serving.access.auth import OperatorToken
from serving.alarms import AlarmRecord, ScoreRun
from serving.settings import Settings
from serving.store import AlarmStore

TOKEN = "correct horse battery staple"
NAMES = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
]


@pytest.fixture(name="contract", scope="module")
def _contract(
    home_copy: Path,
    live: Callable[..., str],
    make_scores: Callable[..., pl.DataFrame],
    make_alarms: Callable[..., AlarmRecord],
) -> Iterator[schemathesis.BaseSchema]:
    """The contract as the live service tells it: a champion, fresh scores, an alarm."""
    found = Settings.from_env({"FORELIGHT_HOME": str(home_copy), "FORELIGHT_RATE_PER_S": "1000000"})
    at = datetime.now(UTC)
    with AlarmStore(found.database_url) as store:
        Lake(found.lake_uri).append(SCORES, make_scores(at=at))
        run = ScoreRun(at=at, started_at=at, finished_at=at, model_version="1", modules_scored=1, modules_unknown=0)
        store.apply(run, [make_alarms()])
        url = live(found, store, OperatorToken.of(TOKEN))
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


@pytest.mark.slow
def test_every_answer_keeps_the_contract(contract: schemathesis.BaseSchema) -> None:
    checks: list[Any] = [CHECKS.get_one(name) for name in NAMES]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    failed: list[str] = []
    found: Any
    for found in contract.get_all_operations():
        operation: Any = found.ok()

        @settings(
            max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
        )
        @given(operation.as_strategy())
        def ask(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=checks)

        try:
            ask()
        except FailureGroup as group:
            failed += [f"{operation.label}: {failure.title}: {failure.message}" for failure in group.exceptions]

    assert [] == failed
