"""The collector's quarantine: numbers that no module gives, as they came, within bounds."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.collect.poll import Poll, Refused
from ingest.collect.refused import write_refused
from ingest.config import Target

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _poll(*refused: Refused) -> Poll:
    target = Target.model_validate({"device": "leaf01", "address": "192.0.2.1", "snmp": {"community": "x"}})
    return Poll(target, refused=list(refused))


def test_a_refused_number_is_a_line_that_names_its_place_and_what_came(tmp_path: Path) -> None:
    hot, bias = Refused("Ethernet1", 0, "temperature_c", 3276.7), Refused("Ethernet2", 3, "tx_bias_ma", 65535.0)

    assert 2 == write_refused(tmp_path / "quarantine", [_poll(hot), _poll(bias)], AT)
    first, second = map(json.loads, (tmp_path / "quarantine" / "collect-20260301.jsonl").read_text().splitlines())
    assert ("leaf01", "Ethernet1", 0, "temperature_c", 3276.7) == tuple(
        first[name] for name in ("device", "interface", "lane", "column", "raw")
    )
    assert ("tx_bias_ma", "2026-03-01T12:00:00+00:00") == (second["column"], second["time"])


def test_nothing_refused_makes_no_file(tmp_path: Path) -> None:
    assert 0 == write_refused(tmp_path / "quarantine", [_poll()], AT)
    assert not (tmp_path / "quarantine").exists()


def test_a_day_takes_no_more_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.collect.refused._MAX_BYTES", 300)
    written = [write_refused(tmp_path, [_poll(Refused("Ethernet1", 0, "voltage_v", 99.0))], AT) for _ in range(10)]

    assert sum(written) < 4
    assert 0 == written[-1]
