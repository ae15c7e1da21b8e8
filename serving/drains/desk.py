"""The desk where automation asks: advice on a link, leases, and reports of what was done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ingest.schema import Action
from serving.alarms import AlarmRecord, Suspect, left_alone
from serving.drains.advice import STOPS_ALL, Case, Mode, advise
from serving.drains.config import DrainConfig
from serving.drains.fabric import Link, LinkClass, Port
from serving.drains.guard import Code, Network, Refusal, refusal
from serving.drains.judged import Judged, advice_entry, entry, grant, lease_entry, refused, unasked
from serving.drains.records import Drain, DrainState, Entry, Kind, Verdict
from serving.drains.refusals import Refusals
from serving.drains.sight import Sight
from serving.drains.store import DrainStore, Standing, Writing
from serving.drains.verify import Verification
from serving.errors import DrainNotFoundError, LeaseOwnerError, LinkNotFoundError
from serving.snapshot import Snapshot

__all__ = ["Desk", "Known"]

_LAST_REPAIRS = 10


@dataclass(frozen=True, slots=True)
class Known:
    """What is known at the time of a question: scores, standing alarms, the fabric."""

    snapshot: Snapshot
    sight: Sight


@dataclass(frozen=True, slots=True)
class Desk:
    """Advice, leases and reports.

    Attributes:
        store: what is out and what was decided.
        config: limits, costs, what `active` asks for.
        no_act_share: of the alarms between switches, left alone at random.
        refusals: that are written down already.
    """

    store: DrainStore
    config: DrainConfig
    no_act_share: float = 0.0
    refusals: Refusals = field(default_factory=Refusals, repr=False, compare=False)

    def judge(self, known: Known, standing: Standing, port: Port) -> Judged:
        """Advice on the link at a port.

        Raises:
            LinkNotFoundError: no link is known there.
        """
        fabric = known.sight.fabric
        link = self.link_at(known, port)
        kind = fabric.class_of(link)
        ends = [*dict.fromkeys((*link.ends, *(fabric.cages[end] for end in link.ends)))]
        scores = [score for end in ends if (score := known.snapshot.scores.find(end)) is not None]
        alarm = next((alarm for end in ends if (alarm := known.snapshot.alarms.get(end)) is not None), None)
        links = fabric.taken_with(link, _suspect(alarm))
        alone = alarm is not None and kind is LinkClass.FABRIC and left_alone(alarm.alarm_id, self.no_act_share)
        against = self._against(known, standing, links)
        decision = advise(Case(kind, scores, alarm, alone, against, self.config.cost_of(kind)))
        types: Mapping[str, float] = next((p for score in scores if (p := score.get("type_probabilities"))), {})
        return Judged(link, kind, standing.mode(kind), links, fabric.servers_of(link), alarm, types, decision)

    def link_at(self, known: Known, port: Port) -> Link:
        """The link at a port: of several in a breakout cage the one with an alarm, else the first.

        Raises:
            LinkNotFoundError: no link is known there.
        """
        fabric = known.sight.fabric
        names = fabric.at_port.get(port, ())
        if not names:
            msg = f"no link is known at {port[2]} of {port[1]} at site {port[0]}"
            raise LinkNotFoundError(msg)
        links = [fabric.links[name] for name in names]
        exact = [link for link in links if port in link.ends] or links
        return next((link for link in exact if any(end in known.snapshot.alarms for end in link.ends)), exact[0])

    def lease(self, known: Known, port: Port, holder: str, ttl_s: float | None) -> tuple[Judged, Drain | Refusal]:
        """Reserve the capacity that draining a link takes; asking again gives the same lease.

        Raises:
            LinkNotFoundError: no link is known there.
        """

        def decide(writing: Writing) -> tuple[Judged, Drain | Refusal]:
            standing = writing.standing()
            judged = self.judge(known, standing, port)
            for one in standing.out:
                if one.link_id == judged.link.link_id and _holds(one, holder, standing):
                    return judged, self._still(known, standing, one)
            answer = grant(judged, port, holder, ttl_s or self.config.lease_s, standing) or refused(judged)
            line = lease_entry(judged, port, holder, answer, standing)
            if isinstance(answer, Drain):
                writing.add(answer)
            if not self.refusals.repeats(line):
                writing.log(line)
                written.append(line)
            return judged, answer

        written: list[Entry] = []
        found = self.store.together(decide, known.sight.observed)
        for line in written:  # they are on disk
            self.refusals.note(line)
        return found

    def _still(self, known: Known, standing: Standing, lease: Drain) -> Drain | Refusal:
        """A lease that stands, unless what was said since is against draining at all."""
        others = replace(standing, out=tuple(one for one in standing.out if one is not lease))
        against = self._against(known, others, lease.links)
        return against if against is not None and against.code in STOPS_ALL else lease

    def release(self, drain_id: str, holder: str) -> Drain:
        """Give a lease back before its time; only who holds it may, and only before anything was drained.

        Raises:
            DrainNotFoundError: there is no such lease.
            LeaseOwnerError: it is another's, or no lease that stands.
        """
        with self.store.writing() as writing:
            before = writing.drain(drain_id)
            if before.state is DrainState.RELEASED:
                return before
            if before.holder != holder or before.state is not DrainState.LEASED:
                msg = f"drain {drain_id} is {before.state} and held by {before.holder}: {holder} cannot release it"
                raise LeaseOwnerError(msg)
            after = replace(before, state=DrainState.RELEASED, ended_at=before.end(writing.now) or writing.now)
            writing.change(after)
            writing.log(entry(writing, after, Kind.RELEASED, holder, "given back before anything was drained"))
            return after

    def drained(self, known: Known, port: Port, who: str, why: str) -> Drain:
        """Take down that a link carries no traffic any more: a lease becomes a drain, and one without a lease counts.

        Raises:
            LinkNotFoundError: no link is known there.
        """
        with self.store.writing(known.sight.observed) as writing:
            standing, link = writing.standing(), self.link_at(known, port)
            before = _out(standing, link.link_id)
            if before is not None and before.state is DrainState.DRAINED:
                return before
            if before is None:
                after = unasked(self.judge(known, standing, port), port, who, standing)
                writing.add(after)
                told = "drained without a lease"
            else:
                late = before.end(standing.now) is not None
                after = replace(before, state=DrainState.DRAINED, expires_at=None, ended_at=None)
                writing.change(after)
                told = "drained after its lease or drain had ended" if late else "drained under its lease"
                told += "" if who == before.holder else f", which {before.holder} holds"
            writing.log(entry(writing, after, Kind.DRAINED, who, f"{told}; {why}" if why else told))
            return after

    def undrained(self, known: Known, port: Port, who: str, why: str, actions: Sequence[Action]) -> Drain:
        """Take down that a link is back in service, with the repairs that were tried.

        Raises:
            LinkNotFoundError: no link is known there.
            DrainNotFoundError: it is not drained as far as we were told.
        """
        with self.store.writing() as writing:
            link = self.link_at(known, port)
            before = _out(writing.standing(), link.link_id)
            if before is None or before.state is DrainState.LEASED:
                msg = f"nobody told us that {link.link_id} is drained"
                raise DrainNotFoundError(msg)
            if before.state is DrainState.UNDRAINED:
                return before
            tried = (*before.actions, *actions)
            after = replace(before, state=DrainState.UNDRAINED, ended_at=writing.now, actions=tried, verdict=None)
            writing.change(after)
            told = f"tried {', '.join(actions)}" if actions else "nothing was said to be repaired"
            writing.log(entry(writing, after, Kind.UNDRAINED, who, f"{told}; {why}" if why else told))
            return after

    def verified(self, drain_id: str, found: Verification, who: str, why: str) -> Drain:
        """Keep the verdict on a repair where it is new; a class of links whose repairs fail goes back to shadow.

        Raises:
            DrainNotFoundError: there is no such drain.
        """
        with self.store.writing() as writing:
            before = writing.drain(drain_id)
            if before.verdict is found.verdict:
                return before
            after = replace(before, verdict=found.verdict)
            writing.change(after)
            told = "; ".join(found.findings)
            line = entry(writing, after, Kind.VERIFIED, who, f"{told}; {why}" if why else told)
            writing.log(replace(line, outcome=found.verdict))
            if found.verdict is Verdict.FAILED and before.verdict is not Verdict.FAILED:
                self._demote_after_failures(writing, after.link_class)
            return after

    def _demote_after_failures(self, writing: Writing, kind: LinkClass) -> None:
        """Back to shadow where too many of the last repairs cured nothing."""
        most = self.config.activation.failed_verifications
        failed = writing.verdicts(kind, _LAST_REPAIRS).count(Verdict.FAILED)
        if writing.standing().mode(kind) is Mode.ACTIVE and failed >= most:
            writing.switch(
                kind, Mode.SHADOW, "forelight", f"{failed} of the last {_LAST_REPAIRS} repairs cured nothing"
            )

    def record(self, known: Known, model: str) -> int:
        """Log the advice on every standing alarm where it is new; the number of new entries.

        Args:
            known: as of the run.
            model: name and version of who advises.
        """
        with self.store.writing(known.sight.observed) as writing:
            standing, new = writing.standing(), 0
            for alarm in known.snapshot.standing.values():
                port = (alarm.site, alarm.device, alarm.interface)
                if port not in known.sight.fabric.at_port:
                    continue
                judged = self.judge(known, standing, port)
                last, now = writing.last_advice(alarm.alarm_id), judged.decision
                if last is None or (last.outcome, last.code, last.mode) != (now.advice, now.code, judged.mode):
                    writing.log(advice_entry(judged, port, model, standing))
                    new += 1
            return new

    def _against(self, known: Known, standing: Standing, links: tuple[str, ...]) -> Refusal | None:
        """What speaks against taking links out: a person's word first, then the guard."""
        if (stop := standing.stopped) is not None:
            return Refusal(Code.STOPPED, f"{stop.who} stopped all drains: {stop.why}")
        fabric = known.sight.fabric
        ends = {end for name in links for end in fabric.links[name].ends}
        ports = ends | {fabric.cages[end] for end in ends}
        for one in standing.exclusions:
            if any(_excluded(one.site, one.device, one.interface, port) for port in ports):
                until = one.until.isoformat(timespec="minutes")
                return Refusal(Code.EXCLUDED, f"{one.who} excluded {one.device} until {until}: {one.why}")
        out, recent = ([one.held(standing.now) for one in some] for some in (standing.out, standing.recent))
        observed = known.sight.observed
        still, back = ([one for one in out if one.back(observed) is so] for so in (False, True))
        network = Network(fabric, observed, still, [*recent, *back])
        return refusal(network, links, self.config.guard, standing.now)


def _suspect(alarm: AlarmRecord | None) -> Port | None:
    """The cage that is worked on, where a module is suspected."""
    if alarm is None or alarm.suspect is not Suspect.MODULE:
        return None
    return alarm.site, alarm.device, alarm.interface


def _excluded(site: str, device: str, interface: str | None, port: Port) -> bool:
    return (site, device) == port[:2] and interface in {None, port[2]}


def _out(standing: Standing, link_id: str) -> Drain | None:
    """The drain that has a link out: a reported one before a lease."""
    found = [one for one in standing.out if link_id in one.links]
    return min(found, key=lambda one: one.state is DrainState.LEASED, default=None)


def _holds(one: Drain, holder: str, standing: Standing) -> bool:
    leased = one.given and one.state is DrainState.LEASED
    return leased and one.holder == holder and one.end(standing.now) is None
