"""The checker: compares the clients' answers with the database, its witness and the hosts.

It uses its own SQL and imports nothing of the server. Each invariant reports how much it checked.
"""

from collections import Counter, defaultdict
from collections.abc import Callable

from chaos.agents import SeenTask
from chaos.clients import items_of
from chaos.deployment import Deployment
from chaos.findings import Finding
from chaos.history import Request
from chaos.witness import Row, Witness

# What a request makes: the table, and the column that has the request's id.
MADE = {
    "allocation_create": ("allocations", "name"),
    "ssh_key_create": ("ssh_keys", "name"),
    "ssh_grant_create": ("ssh_grants", "note"),
    "tenant_user_create": ("users", "name"),
    "instance_create": ("app_instances", "name"),
}
REMOVED = {"ssh_key_create": "ssh_key_delete"}  # whose row goes when it is deleted
DELETES = (*REMOVED.values(), "ssh_grant_delete")  # the row of a grant stays, revoked
ENDED = ("operation.succeeded", "operation.failed", "operation.cancelled", "operation.expired")
ACCESS = ("provision", "sync_access", "deprovision")  # host tasks that give access to an allocation, or end it
STUCK_SECONDS = 10


class Checker:
    def __init__(self, witness: Witness, deployment: Deployment, tasks: list[SeenTask]) -> None:
        self._witness = witness
        self._cast = deployment
        self._history = deployment.history
        self._tasks = sorted(tasks, key=lambda task: task.at)
        self._made: dict[str, dict[str, list[str]]] = {}  # kind of request, name, ids

    def check(self) -> list[Finding]:
        checks: list[tuple[str, Callable[[Finding], None]]] = [
            ("claims", self._claims),
            ("exclusivity", self._exclusivity),
            ("claims of what lives", self._claims_of_the_living),
            ("wipe before next provision", self._wipe_before_provision),
            ("accepted: it is there", self._accepted_kept),
            ("refused: it is not there", self._refused_kept),
            ("all or nothing", self._all_or_nothing),
            ("same key, same answer", self._same_answer),
            ("released: it ends", self._released_kept),
            ("deleted: it is gone", self._deleted_kept),
            ("events once, in order", self._watched_events),
            ("events of every change", self._events_of_transitions),
            ("events of nothing else", self._events_have_subjects),
            ("quotas", self._quotas),
            ("GPUs not proven clean", self._unproven),
            ("audit of every change", self._audit_of_accepted),
            ("audit of nothing else", self._audit_has_resources),
            ("work under its lease", self._fence),
            ("operations have one outcome", self._operations),
            ("controllers stay", self._controllers),
            ("no stuck work", self._stuck_work),
            ("nothing left in the database", self._left_in_database),
            ("no access left on the hosts", self._left_on_hosts),
        ]
        findings = []
        self._made = {kind: self._ids_by_name(*place) for kind, place in MADE.items()}
        for name, check in checks:
            findings.append(Finding(name))
            check(findings[-1])
        return findings

    # Claims, from the witness: each in the order in which the database let it happen

    def _claims(self, finding: Finding) -> None:
        claimed: dict[str, str] = {}
        for row in self._rows("SELECT * FROM chaos.claims WHERE kind = 'slot' ORDER BY n"):
            if row["live"]:
                other = claimed.get(row["slot_id"])
                finding.expect(other is None, f"slot {row['slot_id']}: {row['allocation_id']} beside {other}")
                claimed[row["slot_id"]] = row["allocation_id"]
            elif claimed.get(row["slot_id"]) == row["allocation_id"]:
                del claimed[row["slot_id"]]

    def _exclusivity(self, finding: Finding) -> None:
        whole: dict[str, str] = {}
        parts: dict[str, Counter[str]] = defaultdict(Counter)
        for row in self._rows("SELECT * FROM chaos.claims ORDER BY n"):
            node, owner = row["node_id"], row["allocation_id"]
            if not row["live"]:
                if row["kind"] == "slot":
                    parts[node][owner] -= 1
                elif whole.get(node) == owner:
                    del whole[node]
                continue
            others = [one for one, count in parts[node].items() if count > 0] if row["kind"] != "slot" else []
            others += [whole[node]] if node in whole else []
            finding.expect(not others, f"node {node}: {row['kind']} of {owner} beside {others}")
            if row["kind"] == "slot":
                parts[node][owner] += 1
            else:
                whole[node] = owner

    def _claims_of_the_living(self, finding: Finding) -> None:
        rows = self._rows(
            "SELECT a.id, a.shape, a.gpu_count, a.ended_at, a.state, count(c.id) FILTER (WHERE c.released_at IS NULL) AS live"
            " FROM allocations a LEFT JOIN allocation_resource_claims c ON c.allocation_id = a.id GROUP BY a.id"
        )
        for row in rows:
            due = 0 if row["ended_at"] else row["gpu_count"] if row["shape"] == "gpu_slice" else 1
            finding.expect(row["live"] == due, f"{row['id']} ({row['state']}) has {row['live']} claims, not {due}")

    def _wipe_before_provision(self, finding: Finding) -> None:
        """As the hosts saw it: whoever had a slot before was verified clean before the next one came."""
        last: dict[tuple[str, int], str] = {}
        verified: set[str] = set()
        provisioned: set[str] = set()
        for task in self._tasks:
            if task.refused:
                continue
            if task.kind == "verify_wipe":
                verified.add(task.resource_id)
            if task.kind != "provision" or task.resource_id in provisioned:
                continue
            provisioned.add(task.resource_id)
            for slot in task.slots:
                before = last.get((task.node_id, slot))
                clean = before is None or before in verified
                finding.expect(clean, f"{task.node_id}/{slot}: {task.resource_id} came before {before} was wiped")
                last[task.node_id, slot] = task.resource_id

    # What clients were told

    def _ids_by_name(self, name: str, column: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for row in self._rows(f"SELECT id, {column} AS name FROM {name} WHERE {column} IS NOT NULL"):
            found[row["name"]].append(row["id"])
        return found

    def _made_by(self, request: Request) -> list[str]:
        """The ids; of a bulk, each has its number behind the name."""
        count = int(str(request.body.get("count", 1)))
        names = [request.id, *(f"{request.id}-{number}" for number in range(count + 2))]
        return [made for name in names for made in self._made[request.kind].get(name, ())]

    def _accepted_kept(self, finding: Finding) -> None:
        gone = self._deleted_ids()
        for request in self._history.of(*MADE):
            if request.accepted:
                there = {*self._made_by(request), *gone}
                told = self._told_ids(request)
                finding.expect(
                    bool(told) and told <= there, f"{request.id}: told {sorted(told)}, there {sorted(there)[:4]}"
                )

    def _told_ids(self, request: Request) -> set[str]:
        body = request.answer.body if request.answer else {}
        if request.kind == "allocation_create":
            return {str(item["id"]) for item in items_of(body)}
        if isinstance(instance := body.get("instance"), dict):
            return {str(instance["id"])}
        return {str(body["id"])} if "id" in body else set()

    def _deleted_ids(self) -> set[str]:
        """Ids in the paths of requests that delete; whether or not they were answered."""
        return {request.path.rpartition("/")[2] for request in self._history.of(*REMOVED.values())}

    def _refused_kept(self, finding: Finding) -> None:
        for request in self._history.of(*MADE):
            if request.refused and request.answer is not None:
                made = self._made_by(request)
                finding.expect(not made, f"{request.id} was refused ({request.answer.code}), and there is {made}")

    def _all_or_nothing(self, finding: Finding) -> None:
        for request in self._history.of(*MADE):
            count, made = request.body.get("count", 1), len(self._made_by(request))
            if request.kind in REMOVED and made == 0:
                continue
            finding.expect(made in (0, count), f"{request.id} made {made} of {count}")

    def _same_answer(self, finding: Finding) -> None:
        for request in self._history.requests:
            told = [(one.status, one.code, {} if one.code else one.body) for one in request.attempts if one.decided]
            for other in told[1:]:
                same = other == told[0]
                finding.expect(same, f"{request.id} ({request.kind}): {told[0][:2]}, then {other[:2]}")

    def _released_kept(self, finding: Finding) -> None:
        states = {row["id"]: row["state"] for row in self._rows("SELECT id, state FROM allocations")}
        for request in self._history.of("allocation_release"):
            if request.accepted:
                allocation_id = request.path.split("/")[-2]
                state = states.get(allocation_id)
                # A failed one is cleaned and stays failed; its claims are looked at above.
                finding.expect(state in ("released", "failed"), f"{allocation_id} is {state}")

    def _deleted_kept(self, finding: Finding) -> None:
        rows = self._rows("SELECT id FROM ssh_keys UNION ALL SELECT id FROM ssh_grants WHERE revoked_at IS NULL")
        there = {row["id"] for row in rows}
        for request in self._history.of(*DELETES):
            if request.accepted:
                deleted = request.path.rpartition("/")[2]
                finding.expect(deleted not in there, f"{request.kind} of {deleted} was accepted, and it is there")

    # Events

    def _watched_events(self, finding: Finding) -> None:
        for watcher in self._cast.watchers:
            rows = self._rows(
                "SELECT transaction_id || '.' || sequence AS cursor, id FROM events WHERE project_id = %s AND"
                " (transaction_id, sequence) > (%s, %s) ORDER BY transaction_id, sequence",
                watcher.project_id,
                *map(int, watcher.start.split(".")),
            )
            there, seen = [(row["cursor"], row["id"]) for row in rows], watcher.seen
            name = watcher.session.name
            twice = [one for one, count in Counter(seen).items() if count > 1]
            known = set(seen)
            missed = [one for one in there if one not in known]
            finding.checked += len(there)
            if twice:
                finding.violations.append(f"{name} saw twice: {twice[:3]}")
            if missed:
                finding.violations.append(f"{name} missed: {missed[:3]}")
            if not twice and not missed and seen != there:
                finding.violations.append(f"{name} saw them in another order, or some that are not there")

    def _events_of_transitions(self, finding: Finding) -> None:
        wanted: dict[str, list[str]] = defaultdict(list)
        for row in self._rows(
            "SELECT allocation_id, state FROM allocation_transitions ORDER BY allocation_id, generation"
        ):
            wanted[row["allocation_id"]].append(f"allocation.{row['state']}")
        seen: dict[str, list[str]] = defaultdict(list)
        for row in self._rows("SELECT subject, type FROM events ORDER BY transaction_id, sequence"):
            seen[row["subject"]].append(row["type"])
        for allocation_id, states in wanted.items():
            told = [one for one in seen[allocation_id] if one in set(states)]
            finding.expect(told == states, f"{allocation_id}: states {states}, events {told}")

    def _events_have_subjects(self, finding: Finding) -> None:
        rows = self._rows(
            "SELECT e.subject, e.type, a.id IS NOT NULL OR o.id IS NOT NULL OR i.id IS NOT NULL AS there FROM events e"
            " LEFT JOIN allocations a ON a.id = e.subject LEFT JOIN app_operations o ON o.id = e.subject"
            " LEFT JOIN app_instances i ON i.id = e.subject WHERE e.subject ~ '^(alc|op|ins)_'"
        )
        for row in rows:
            finding.expect(row["there"], f"{row['type']} about {row['subject']}, which does not exist")

    # Quotas, audit, work

    def _quotas(self, finding: Finding) -> None:
        for row in self._rows("SELECT * FROM chaos.quotas ORDER BY n"):
            within = row["used"] >= 0 and (row["allowed"] is None or row["used"] <= row["allowed"])
            finding.expect(within, f"{row['scope_id']}: {row['used']} of {row['allowed']}")
        rows = self._rows(
            "SELECT q.scope_id, q.gpus_used, coalesce(sum(a.gpu_count), 0) AS counted FROM quotas q LEFT JOIN allocations a"
            " ON a.counted AND q.scope_id IN (a.project_id, a.tenant_id) GROUP BY q.scope_id, q.gpus_used"
        )
        for row in rows:
            finding.expect(
                row["gpus_used"] == row["counted"], f"{row['scope_id']}: {row['gpus_used']} ≠ {row['counted']}"
            )

    def _unproven(self, finding: Finding) -> None:
        """What was released without a proof counts against its tenant for as long as that is so, and then no longer."""
        for row in self._rows("SELECT * FROM chaos.unproven ORDER BY n"):
            finding.expect(
                row["stored"] == row["counted"], f"{row['scope_id']} at {row['at']}: {row['stored']} ≠ {row['counted']}"
            )
        for row in self._rows("SELECT id, state, unproven, ended_at FROM allocations"):
            ended = row["ended_at"] is not None
            finding.expect(not (ended and row["unproven"]), f"{row['id']} is {row['state']} and counts as unproven")
        rows = self._rows(
            "SELECT q.scope_id, q.unproven_gpus AS stored, coalesce(sum(a.gpu_count), 0) AS counted FROM quotas q"
            " LEFT JOIN allocations a ON a.unproven AND q.scope_id IN (a.project_id, a.tenant_id) GROUP BY q.scope_id"
        )
        for row in rows:
            finding.expect(row["stored"] == row["counted"], f"{row['scope_id']}: {row['stored']} ≠ {row['counted']}")

    def _audit_of_accepted(self, finding: Finding) -> None:
        rows = self._rows("SELECT action, resource_id FROM audit_records WHERE outcome = 'done'")
        done = Counter((row["action"], row["resource_id"]) for row in rows)
        for request in self._history.of(*MADE):
            for told in self._told_ids(request) if request.accepted else ():
                finding.expect(
                    done[request.kind, told] == 1, f"{request.kind} of {told}: {done[request.kind, told]} rows"
                )
        for request in self._history.of("allocation_release", *DELETES):
            if request.accepted:
                told = request.path.split("/")[-2 if request.kind == "allocation_release" else -1]
                finding.expect(done[request.kind, told] >= 1, f"{request.kind} of {told}: no row")

    def _audit_has_resources(self, finding: Finding) -> None:
        gone = self._deleted_ids()
        for action, (name, _) in MADE.items():
            rows = self._rows(
                f"SELECT r.resource_id, t.id FROM audit_records r LEFT JOIN {name} t ON t.id = r.resource_id"
                " WHERE r.action = %s AND r.outcome = 'done'",
                action,
            )
            for row in rows:
                there = row["id"] is not None or row["resource_id"] in gone
                finding.expect(there, f"{action} of {row['resource_id']}, which does not exist")

    def _fence(self, finding: Finding) -> None:
        """Whoever moves an allocation on has its work row at that moment."""
        parts = self._cast.platform.parts
        for row in self._rows("SELECT * FROM chaos.steps WHERE application LIKE 'worker-%%' ORDER BY n"):
            holder = row["holder"] or "nobody:0:"
            owned = int(holder.split(":")[-2]) in parts[row["application"]].pids
            finding.expect(
                owned, f"{row['allocation_id']} to {row['state']} by {row['application']}, leased by {holder}"
            )

    def _operations(self, finding: Finding) -> None:
        rows = self._rows(
            "SELECT o.id, o.status, o.finished_at, count(e.id) AS ends FROM app_operations o LEFT JOIN events e"
            " ON e.subject = o.id AND e.type = ANY(%s) GROUP BY o.id",
            list(ENDED),
        )
        for row in rows:
            finding.expect(row["finished_at"] is not None, f"{row['id']} is {row['status']}")
            finding.expect(row["ends"] == 1, f"{row['id']} ({row['status']}) ended {row['ends']} times")

    def _controllers(self, finding: Finding) -> None:
        """A replica of the app's controller outlives whatever happens to the platform."""
        finding.checked += len(self._cast.controllers)
        finding.violations += self._cast.controller_ends

    def _stuck_work(self, finding: Finding) -> None:
        rows = self._rows(
            "SELECT kind, subject, run_at, lease_until, last_error, (lease_until IS NULL AND run_at < now() - %s * interval"
            " '1 second') OR lease_until < now() - %s * interval '1 second' AS stuck FROM work_items",
            STUCK_SECONDS,
            STUCK_SECONDS,
        )
        for row in rows:
            finding.expect(
                not row["stuck"], f"{row['kind']} {row['subject']} since {row['run_at']}: {row['last_error']}"
            )
        for row in self._rows("SELECT id, state, phase, ended_at, failure FROM allocations"):
            finding.expect(
                row["ended_at"] is not None, f"{row['id']} is {row['state']}/{row['phase']}: {row['failure']}"
            )
        for row in self._rows("SELECT id, kind FROM node_tasks WHERE status = 'pending' AND kind <> 'discover'"):
            finding.expect(False, f"host task {row['id']} ({row['kind']}) is pending")
        for row in self._rows("SELECT id, status FROM node_resource_slots"):
            finding.expect(row["status"] == "available", f"slot {row['id']} is {row['status']}")

    def _left_in_database(self, finding: Finding) -> None:
        known = {*self._cast.platform.parts, "chaos-checker", ""}
        rows = self._rows(
            "SELECT application_name, state, now() - state_change > interval '5 seconds' AS old FROM pg_stat_activity"
            " WHERE datname = 'gpuaas' AND backend_type = 'client backend'"
        )
        for row in rows:
            finding.expect(row["application_name"] in known, f"a connection of {row['application_name']!r}")
            idle = str(row["state"] or "").startswith("idle in transaction") and row["old"]
            finding.expect(not idle, f"{row['application_name']} is {row['state']}")
        locks = self._rows("SELECT pid FROM pg_locks WHERE locktype = 'advisory'")
        finding.expect(not locks, f"{len(locks)} advisory locks are held")

    def _left_on_hosts(self, finding: Finding) -> None:
        """A grant's row stays as it was when its allocation ends, and is no access any more: deprovisioning ended that."""
        last = {task.resource_id: task for task in self._tasks if task.kind in ACCESS and not task.refused}
        for row in self._rows(
            "SELECT a.id, count(g.id) AS grants FROM allocations a LEFT JOIN ssh_grants g ON g.allocation_id = a.id"
            " AND g.revoked_at IS NULL WHERE a.ended_at IS NOT NULL GROUP BY a.id"
        ):
            if (task := last.get(row["id"])) is not None:
                told = f"{row['id']} ended with {row['grants']} live grants; {task.node_id} did {task.kind} last"
                finding.expect(task.kind == "deprovision", told)

    def _rows(self, query: str, *values: object) -> list[Row]:
        return self._witness.rows(query, *values)
