"""Lets a controller read, between operations, what the hosts of an instance have counted, and do nothing else there.

Apps that count on their hosts keep the counts in a folder of the instance. A certificate for it has a forced command:
whatever its holder requests, sshd prints the counts. It lasts minutes.
"""

from datetime import timedelta

from gpuaas_server.access import service as access
from gpuaas_server.access.service import IssueRequest, MachineAccessRequest
from gpuaas_server.allocations import service as allocations
from gpuaas_server.app_usage.schemas import UsageAccess
from gpuaas_server.catalog.service import usage_folder
from gpuaas_server.controllers import service as controllers
from gpuaas_server.instances import service as instances
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx

LIFE = timedelta(minutes=10)
MOST_BYTES = 8192  # of one file


async def app_usage_access(tx: Tx, caller: Caller, instance_id: str, wanted: MachineAccessRequest) -> UsageAccess:
    """Issue a certificate for each host that can be reached. The others are left out; they keep their counts."""
    metered = await instances.load_metered_instance(
        tx.connection, caller, instance_id
    )  # raises unless it is the app's controller
    named = await instances.member_allocations(tx.connection, instance_id)
    if caller.by_consent:  # as for operations, the consent must name the allocation's own project
        covered = await controllers.projects_covered(tx.connection, metered.tenant_id, metered.app_slug, tx.actor.id)
        named = [one for one in named if covered is None or one[1] in covered]
    found = await allocations.allocations_access(tx.connection, named)
    reachable = [one for one in found if one.state == "active" and one.ssh is not None]
    until = tx.now + LIFE
    request = IssueRequest(
        wanted.public,
        until,
        wanted.authority,
        wanted.sources,
        command=f"exec head -qc {MOST_BYTES} {usage_folder(instance_id)}/*.json",
        purpose=f"usage/{instance_id}",
    )
    issued = await access.certificates_issue(tx, reachable, request)
    tx.audited = True  # each certificate is a row that says whose it is and when it ends; it opens nothing but counts
    return UsageAccess(instance_id=instance_id, valid_before=until, certificates=issued)
