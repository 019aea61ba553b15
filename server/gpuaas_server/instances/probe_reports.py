"""Takes what hosts say of the probes that they run. They report changes, and everything now and then.

A tenant may control the host, so a report is only that tenant's claim about its own app, and changes nothing else: it is taken
only for members on the host, for the probes that the host was asked to run.
"""

from collections.abc import Sequence

from gpuaas_server.instances.health import WORK as HEALTH_WORK
from gpuaas_server.instances.probe_documents import ProbeReportDocument, ProbeStateDocument
from gpuaas_server.instances.probe_queries import ProbedMember, members_elsewhere, probe_reports_store, probed_members
from gpuaas_server.instances.probe_schemas import MemberProbes, ProbeReport, ProbeReportAccepted, ReportedProbe
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations import service as operations
from gpuaas_server.work import leases


async def probe_report(tx: Tx, node_id: str, body: ProbeReport) -> ProbeReportAccepted:
    told = {one.member_id: one for one in body.members}
    known = {one.id: one for one in await probed_members(tx.connection, node_id, list(told))}
    news: dict[str, ProbeReportDocument] = {}
    for member_id, member in known.items():
        report = _report(member, told[member_id])
        if report is not None and report != member.probe_report:
            news[member_id] = report
    await _wake(tx, [(known[member_id], report) for member_id, report in news.items()])
    if news:
        await probe_reports_store(tx.connection, news)
    tx.audited = True  # a change of health is an event; a thousand reports that nothing changed are none
    ended = [member_id for member_id in told if member_id not in known or _is_ended(known[member_id])]
    return ProbeReportAccepted(server_time=tx.now, ended=sorted(ended))


async def foreign_members(connection: Connection, node_id: str, told: Sequence[str]) -> list[str]:
    """List the members of other nodes that a host reported about. Its own agent never does that."""
    return await members_elsewhere(connection, node_id, told) if told else []


async def _wake(tx: Tx, news: Sequence[tuple[ProbedMember, ProbeReportDocument]]) -> None:
    """Wake the operations that wait for the members, and have the health of the other instances derived anew.

    Work rows are locked before members, as a worker does it, and all in one order, as another host may report the same.
    """
    wanted: set[tuple[str, str, str]] = set()
    for member, report in news:
        if member.operation_id is None:
            wanted.add((HEALTH_WORK, member.instance_id, member.tenant_id))
        elif any(state["status"] != "pending" for state in report["states"].values()):
            wanted.add((operations.WORK, member.operation_id, member.tenant_id))
    for kind, subject, tenant_id in sorted(wanted):
        await leases.enqueue(tx, kind, [subject], flow=tenant_id)


def _report(member: ProbedMember, told: MemberProbes) -> ProbeReportDocument | None:
    """Return what is kept of a report; None for one that is about another generation than the present one."""
    watch = member.watch
    if watch is None or watch["generation"] != told.generation or not watch["probes"]:
        return None
    asked = {probe["key"] for probe in watch["probes"]}
    states = {probe.key: _state(probe) for probe in told.probes if probe.key in asked}
    return {"generation": told.generation, "states": states}


def _state(probe: ReportedProbe) -> ProbeStateDocument:
    answer = "".join(letter if letter.isprintable() else "?" for letter in probe.answer)
    return {"status": probe.status, "since": probe.since.isoformat(), "answer": answer}


def _is_ended(member: ProbedMember) -> bool:
    return member.watch is None or not member.watch["probes"]
