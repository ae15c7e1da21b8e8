"""``forelight demo``: a small synthetic fleet end to end, from live polls to alarms that are served.

Everything is real but the fleet: switches answer SNMP and stream gNMI on loopback, history comes through the import,
the model goes through MLflow, alarms through the store. Numbers printed are of synthetic data.
"""

import asyncio
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from rich.console import Console

from data_samples import FleetConfig, generate
from data_samples.streams import SimulatedStreams, streamed_switches
from data_samples.switches import SimulatedSwitches, SimulatorError, write_recordings
from features.fleet import Fleet
from ingest.collect.installed import Installations
from ingest.collect.poll import Poll
from ingest.collect.poller import Poller, Sweep
from ingest.config import load_config
from ingest.errors import IngestError, ServingError
from ingest.exports import import_export
from ingest.lake import Lake
from ingest.schema import MODULES
from models.alarm import alarm_frame
from models.kept import BACKTEST
from models.registry import Registry
from models.report import write_report
from models.risk_log import RiskLog
from models.scorecard import Scorecard, early_days, scorecard_table
from serving.backtest.backtesting import judged, walked
from serving.cli import serve as server
from serving.cli.progress import step
from serving.scoring.scorer import Scoring, score_fleet
from serving.scoring.training import fresh_tiles, newest_hour, trained
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["run"]

_LINKS: Final = 340
_DAYS: Final = 40
_TEST_DAYS: Final = 13
_SEED: Final = 2026
_LIVE_S: Final = 4
_SYNTHETIC: Final = "Synthetic fleet: these numbers tell that the chain works, not how well it does on yours."


def run(*, serve: bool, port: int) -> None:
    """Run the demo below ``FORELIGHT_HOME/demo``; what an earlier one left there is removed.

    Args:
        serve: serve the result until Ctrl-C.
        port: to serve at.

    Raises:
        ServingError: the simulated switches do not start.
    """
    home = Settings.from_env().home / "demo"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    overridden = ("FORELIGHT_LAKE_URI", "FORELIGHT_DATABASE_URL", "MLFLOW_TRACKING_URI")
    for name in overridden:  # a demo touches nobody's lake, database or registry
        os.environ.pop(name, None)
    os.environ["FORELIGHT_HOME"] = str(home)
    settings = Settings.from_env()
    console = Console()
    lake = Lake(settings.lake_uri)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    _history(home, lake, now)
    _live(home, lake, console)
    cards, scoring, standing = _learn(settings, lake)
    console.print(scorecard_table(*cards, title=f"Back-test of the last {_TEST_DAYS} days"))
    for note in (early_days(cards[0], cards[0].end), _SYNTHETIC):
        console.print(note, highlight=False)
    console.print(
        f"scored {scoring.run.modules_scored} modules at {scoring.run.at:%Y-%m-%d %H:%M}Z "
        f"({scoring.run.modules_unknown} unknown), {standing} alarms open",
        highlight=False,
    )
    console.print(f"report: {home / 'backtest.html'}", highlight=False, soft_wrap=True)
    if serve:
        server.run(host="127.0.0.1", port=port)


def _history(home: Path, lake: Lake, now: datetime) -> None:
    """Generate a fleet whose history ends now, and import it."""
    quarter = now.replace(minute=now.minute - now.minute % 15)
    config = FleetConfig(links=_LINKS, days=_DAYS, seed=_SEED, start=quarter - timedelta(days=_DAYS))
    with step(f"synthetic fleet, {_LINKS} links") as progress:
        generate(home / "export", config, progress)
    with step("importing its history") as progress:
        import_export(
            home / "export",
            lake,
            quarantine=home / "quarantine",
            progress=lambda _file, done, total: progress(done / max(total, 1)),
        )


def _live(home: Path, lake: Lake, console: Console) -> None:
    """Poll simulated switches of the fleet over SNMP, and hear others over gNMI meanwhile, into the same lake."""
    try:
        recordings, streamed = write_recordings(home / "switches", home / "export"), streamed_switches(home / "export")
        with (
            step("live SNMP polls and gNMI streams"),
            SimulatedSwitches(recordings) as switches,
            SimulatedStreams(streamed) as streams,
        ):
            config = home / "forelight.toml"
            config.write_text(_targets(switches, streams), encoding="utf-8")
            polls = asyncio.run(_collected(config, lake))
    except SimulatorError as error:
        msg = f"simulated switches: {error}"
        raise ServingError(msg) from None
    for device in dict.fromkeys(poll.target.device for poll in polls):
        console.print(f"  {device}: {_told([poll for poll in polls if poll.target.device == device])}", highlight=False)


def _told(polls: list[Poll]) -> str:
    """What came of one device: a poll, or what was streamed until the sweep and after it."""
    lanes, ports = sum(poll.lane_count for poll in polls), sum(poll.port_count for poll in polls)
    failed, profile = next((poll.error for poll in polls if poll.error), None), polls[0].profile
    way = "streamed by" if polls[0].target.protocol == "gnmi" else "polled by"
    return failed or f"{lanes} lane rows, {ports} port rows, {way} {profile}"


def _targets(switches: SimulatedSwitches, streams: SimulatedStreams) -> str:
    """A configuration as an operator would write it."""
    parts = [f"[collect]\ninterval_s = {_LIVE_S}\ndeadline_s = 300\n"]
    for each in switches.recordings:
        os.environ[f"DEMO_{each.device.upper()}_COMMUNITY"] = each.community
        parts.append(
            f'[[target]]\ndevice = "{each.device}"\naddress = "{switches.host}"\nport = {switches.port}\n'
            f'protocol = "snmp"\n[target.snmp]\nversion = "2c"\n'
            f'community_env = "DEMO_{each.device.upper()}_COMMUNITY"\n'
        )
    parts += [
        f'[[target]]\ndevice = "{switch.device}"\naddress = "{streams.host}"\nport = {switch.port}\n'
        'protocol = "gnmi"\n[target.gnmi]\ninsecure = true\nsample_s = 1\n'
        for switch in streams.switches
    ]
    return "\n".join(parts)


async def _collected(config: Path, lake: Lake) -> list[Poll]:
    """One sweep, and what streams told until it and after it."""
    poller = Poller(load_config(config), lake, Installations.of(lake.latest(MODULES).collect().to_dicts()))
    stop, polls = asyncio.Event(), list[Poll]()

    def report(outcome: Sweep | IngestError) -> None:
        if isinstance(outcome, IngestError):
            raise outcome
        polls.extend(outcome.polls)
        stop.set()

    try:
        await poller.run(stop, report)
    finally:
        poller.close()
    return polls


def _learn(settings: Settings, lake: Lake) -> tuple[list[Scorecard], Scoring, int]:
    """Train on the older part, back-test on the newer, register, score the newest hours; how many alarms stand."""
    fresh_tiles(lake, step)
    end = newest_hour(lake)
    split = end - timedelta(days=_TEST_DAYS)
    artifact = trained(lake, split, step)
    fleet = Fleet.load(lake)
    log = RiskLog()
    alarms = alarm_frame(walked(lake, fleet, artifact, (split, end), 1, step, log=log).alarms)
    alarms.write_csv(settings.home / "alarms.csv", datetime_format="%Y-%m-%dT%H:%M:%SZ")
    cards = judged(lake, fleet, alarms, (split, end), step, risks=log.risks())
    write_report(settings.home / "backtest.html", cards, note=_SYNTHETIC)
    with step("MLflow"):
        registry = Registry(settings.tracking_uri, settings.artifact_root)
        version = registry.log(artifact, cards[0].metrics())
        found = {card.name: card.to_dict() for card in cards}
        registry.keep(BACKTEST, cards[0].metrics(), found, settings.home / "backtest.html")
        registry.promote(version, "the demo scores with what it trained")
        champion = registry.champion()
    with AlarmStore(settings.database_url) as store, step("scoring"):
        for hours in (2, 1):  # as the timer would have: an alarm needs two scores of three
            score_fleet(lake, store, champion, end - timedelta(hours=hours))
        return cards, score_fleet(lake, store, champion, end), len(store.open_alarms())
