"""The page about the service names everything that the service has."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from serving import errors
from serving.alarms import Status
from serving.wire.alarms import AlarmQuery

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
KINDS = sorted(
    cls.kind
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, errors.ProblemError) and cls is not errors.ProblemError
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_problem_type_is_documented(kind: str) -> None:
    assert f"`{kind}`" in PAGE


@pytest.mark.parametrize("name", [*AlarmQuery.model_fields, *Status])
def test_each_filter_and_state_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_each_route_and_metric_is_documented(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    client.get("/livez")
    metrics = [line.split()[2] for line in client.get("/metrics").text.splitlines() if line.startswith("# TYPE")]

    assert [] == [name for name in [*paths, *metrics] if f"{name}`" not in PAGE]
