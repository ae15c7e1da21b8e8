"""What other probers wrote, into rows of ``probes``."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.dumps import DumpReport
from ingest.lake import Lake
from ingest.probes.addresses import PortAddress, address_table
from ingest.quarantine import Kind
from ingest.schema import PORT_ADDRESSES, PROBES, Table

Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class TestRpingmesh:
    def test_a_report_of_paths_is_rows(self, take: Take, rows: Rows) -> None:
        report = take("rpingmesh.json")
        near, far = rows(PROBES)

        assert (2, 2) == (report.probes, report.files[0].probes)
        assert {
            "time": START,
            "window_s": 20.0,
            "source_address": "10.1.0.2",
            "target_address": "10.1.0.3",
            "protocol": "rdma_ud",
            "kind": "tor_mesh",
            "sent": 200,
            "lost": 2,
            "invalid_rtt": 1,
            "rtt_min_ns": 2_100,
            "rtt_p50_ns": 4_000,
            "rtt_p99_ns": 16_000,
            "rtt_max_ns": 48_000,
            "source_device": "10.1.0.2",
            "target_device": "10.1.0.3",
            "site": "default",
            "source": "file",
        } == {name: value for name, value in near.items() if name != "received_at"}
        assert ("inter_tor", 40, 40, False) == (far["kind"], far["sent"], far["lost"], "rtt_p50_ns" in far)

    def test_one_summary_with_the_names_of_the_proto_is_read(self, take: Take, rows: Rows) -> None:
        take("rpingmesh_summary.json")
        (row,) = rows(PROBES)

        assert ("fd00::2", 20, 0, 6_000) == tuple(
            row[name] for name in ("source_address", "sent", "lost", "rtt_p50_ns")
        )

    @pytest.mark.parametrize(
        ("wrong", "reason"),
        [
            ({"probeTotal": 7}, "probe_total is not what succeeded, failed and had no valid RTT"),
            ({"probeFailed": -1}, "probe_failed is no count"),
            ({"windowDurationMs": 0}, "window_duration_ms is no length of a window"),
            ({"sourceGid": "leaf"}, "an end that is no address"),
            ({"windowStartUnixNs": "x"}, "window_start_unix_ns is no count"),
        ],
    )
    def test_a_summary_that_cannot_be_is_told_by_line_and_the_others_are_kept(
        self, take: Take, tmp_path: Path, wrong: dict[str, Any], reason: str
    ) -> None:
        good = {
            "sourceGid": "10.0.0.1",
            "targetGid": "10.0.0.2",
            "windowStartUnixNs": "1772366400000000000",
            "windowDurationMs": 1000,
            "probeTotal": 3,
            "probeSuccess": 3,
        }
        path = tmp_path / "report.json"
        bad = json.dumps({**good, "targetGid": "10.0.0.9", **wrong})
        path.write_text(f'{{"summaries": [\n{json.dumps(good)},\n{bad}\n]}}')

        report = take(path)

        assert 1 == report.probes
        told = next(finding for finding in report.findings if finding.kind is Kind.ROW)
        assert (f"{path}:{2 if 'sourceGid' not in wrong else 3}", reason) == (told.where, told.reason)


class TestPingmesh:
    def test_probes_of_a_log_are_windows_of_a_5_tuple(self, take: Take, rows: Rows) -> None:
        """Microseconds in one file of the format, seconds in another; a SYN that was dropped is a loss, once."""
        report = take("pingmesh.log")
        found = {(row["source_address"], row["source_port"], row["time"]): row for row in rows(PROBES)}

        tcp = found["10.2.96.50", 11_111, START]
        assert 4 == report.probes
        assert (2, 1, 201_000, 201_000) == tuple(tcp[name] for name in ("sent", "lost", "rtt_min_ns", "rtt_max_ns"))
        failed = found["10.2.96.50", 11_112, START]
        assert ("dc", 1, 1, False) == (failed["kind"], failed["sent"], failed["lost"], "rtt_p50_ns" in failed)
        assert 823_000 == found["10.2.96.51", 8_910, START]["rtt_p50_ns"]
        assert 411_000 == found["10.2.96.51", 8_910, datetime(2026, 3, 1, 12, 0, 20, tzinfo=UTC)]["rtt_p50_ns"]

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ([1], "an entry is no list of 10"),
            ([1772366400, "leaf", 1, "10.0.0.2", 2, "tcp", "tor", 0, 0.1, 0], "an end that is no address"),
            ([1772366400, "10.0.0.1", 70000, "10.0.0.2", 2, "tcp", "tor", 0, 0.1, 0], "a port that is none"),
            ([1772366400, "10.0.0.1", 1, "10.0.0.2", 2, "tcp", "tor", 0, -1, 0], "RTT or error is no number"),
            (["soon", "10.0.0.1", 1, "10.0.0.2", 2, "tcp", "tor", 0, 0.1, 0], "a time that cannot be"),
            ([1772366400, "10.0.0.1", 1, "10.0.0.2", 2, 6, "tor", 0, 0.1, 0], "protocol and tier are no names"),
        ],
    )
    def test_an_entry_that_cannot_be_is_told_by_line(
        self, take: Take, tmp_path: Path, entry: list[Any], reason: str
    ) -> None:
        good = [1772366400, "10.0.0.1", 1, "10.0.0.2", 2, "tcp", "tor", 0, 0.1, 0]
        path = tmp_path / "ping.log"
        path.write_text("\n".join(json.dumps({"host": "10.0.0.1", "entries": [each]}) for each in (good, entry)))

        report = take(path)

        assert 1 == report.probes
        assert (f"{path}:2", reason) == next(
            (each.where, each.reason) for each in report.findings if each.kind is Kind.ROW
        )

    def test_a_line_that_is_cut_off_is_told(self, take: Take, tmp_path: Path) -> None:
        good = json.dumps({"host": "a", "entries": [[1772366400, "10.0.0.1", 1, "10.0.0.2", 2, "tcp", "tor", 0, 1, 0]]})
        path = tmp_path / "ping.log"
        path.write_text(f"{good}\n{good[:50]}")

        assert f"{path}:2" in {each.where for each in take(path).findings}


def test_ends_are_named_where_a_list_says_whose_address_it_is(take: Take, rows: Rows, lake: Lake) -> None:
    """Of the others that is said: they are called by their address."""
    lake.append(PORT_ADDRESSES, address_table([PortAddress("default", "gpu1", "eth0", "10.1.0.2")], START))

    report = take("rpingmesh.json")

    assert {"gpu1"} == {row["source_device"] for row in rows(PROBES)}
    assert {"eth0"} == {row["source_interface"] for row in rows(PROBES)}
    (note,) = [each for each in report.findings if each.kind is Kind.NOTE]
    assert (2, "10.1.0.3") == (note.count, note.where)


def test_the_same_file_is_taken_once(take: Take, rows: Rows) -> None:
    take("pingmesh.log")

    assert take("pingmesh.log").files[0].known
    assert 4 == len(rows(PROBES))
