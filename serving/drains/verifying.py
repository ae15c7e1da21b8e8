"""Verdicts on repairs: asked for by whoever repaired, and by each batch run where nobody asks."""

from datetime import datetime

from ingest.lake import Lake
from serving.drains.desk import Desk, Known
from serving.drains.records import Drain, DrainState, Verdict
from serving.drains.verify import Verification, verify

__all__ = ["verify_all", "verify_one"]


def verify_one(
    desk: Desk, lake: Lake, known: Known, drain: Drain, now: datetime, who: str, why: str = ""
) -> tuple[Drain, Verification]:
    """Look at what both ends of a link say since it came back from a drain, and keep the verdict.

    Args:
        desk: keeps it.
        lake: with the readings since.
        known: the fabric; the link is in it.
        drain: reported undrained.
        now: until when.
        who: asks.
        why: in the caller's words.
    """
    assert drain.ended_at is not None  # noqa: S101 - it was reported undrained
    fabric = known.sight.fabric
    link = fabric.links[drain.link_id]
    ends = [*dict.fromkeys((*link.ends, *(fabric.cages[end] for end in link.ends)))]
    found = verify(lake, ends, drain.ended_at, now)
    return desk.verified(drain.drain_id, found, who, why), found


def verify_all(desk: Desk, lake: Lake, known: Known, now: datetime) -> int:
    """Look after every repair that has no verdict yet; how many got one.

    A class of links whose repairs fail goes back to shadow also where automation never asks.
    """
    standing = desk.store.standing()
    waiting = [
        one
        for one in (*standing.out, *standing.recent)
        if one.state is DrainState.UNDRAINED
        and one.verdict in {None, Verdict.PENDING}
        and one.link_id in known.sight.fabric.links
    ]
    after = [verify_one(desk, lake, known, one, now, "forelight")[0] for one in waiting]
    return sum(one.verdict is not Verdict.PENDING for one in after)
