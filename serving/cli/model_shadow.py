"""``forelight model shadow``: what the challenger would have done beside the champion."""

import json

from rich.console import Console
from rich.table import Table

from ingest.lake import Lake
from models.evaluate import Counts
from models.kept import SHADOW
from models.registry import Registry
from serving.scoring.side_by_side import SideBySide, side_by_side
from serving.scoring.training import newest_hour
from serving.settings import Settings
from serving.store import AlarmStore

__all__ = ["run"]


def run(*, days: int, as_json: bool) -> None:
    """Print how champion and challenger differ on the hours that both scored, and keep it for the service to tell.

    Raises:
        ModelError: no challenger was scored.
    """
    settings = Settings.from_env()
    lake = Lake(settings.lake_uri)
    with AlarmStore(settings.database_url) as store:
        found = side_by_side(lake, store.walk(), days, newest_hour(lake))
    numbers = {"rank_correlation": found.rank_correlation, "share_in_common": found.share_in_common}
    known = {name: value for name, value in numbers.items() if value is not None}
    Registry(settings.tracking_uri, settings.artifact_root).keep(SHADOW, known, found.to_dict())
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))  # noqa: T201 - the answer
    else:
        _tell(found)


def _tell(found: SideBySide) -> None:
    title = f"{found.hours} hours, {found.start:%Y-%m-%d %H:%M} to {found.end:%Y-%m-%d %H:%M} UTC"
    table = Table("", f"champion {', '.join(found.champion)}", f"challenger {found.challenger}", title=title)
    table.add_row("links with an alarm", str(found.champion_alarms), str(found.challenger_alarms))
    if found.champion_judged and found.challenger_judged and found.judged_until:
        both = (found.champion_judged, found.challenger_judged)
        table.add_row(f"failures until {found.judged_until:%Y-%m-%d %H:%M}", *(str(each.failures) for each in both))
        for lead_h in found.champion_judged.caught:
            table.add_row(f"caught {lead_h} h ahead", *(_caught(each, lead_h) for each in both))
        table.add_row("false alarms", *(str(each.false) for each in both))
    console = Console()
    console.print(table)
    share, rho = found.share_in_common, found.rank_correlation
    told = "no link has an alarm" if share is None else f"{found.in_common} links ({share:.0%}) have one of each"
    ranks = "" if rho is None else f"; ranks of {found.modules} modules agree to {rho:.3f} (Spearman)"
    console.print(f"{told}{ranks}", highlight=False)


def _caught(counts: Counts, lead_h: int) -> str:
    return str(counts.caught[lead_h])
