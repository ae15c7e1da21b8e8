"""What holds for all tests: where nothing may be skipped, a skip is a failure."""

import os
from collections.abc import Generator

import pytest

STRICT = os.environ.get("FORELIGHT_STRICT_SKIPS") == "1"
"""Set by .ci/run, whose machine has everything."""


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{reason} (FORELIGHT_STRICT_SKIPS=1: nothing may be skipped here)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if STRICT and report.skipped:
        _fail(report)
    return report
