"""Reads what hosts have counted for their members, between operations.

An app that counts on its hosts keeps a file for each member, `counts_path`, readable by all: one line of JSON, as
`MemberCounts.line` writes it. The platform signs a certificate whose only command prints these files. A host belongs to a
tenant, who may write anything there: little is read, and only of members that are on the host.
"""

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncssh

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.aio.source_addresses import NEEDED
from gpuaas_sdk.controller.connections import connect_with, validate_address
from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.errors import Denied, InvalidRequest, NotFound
from gpuaas_sdk.generated.models import InstanceMember, SshCertificate

FOLDER = "/var/lib/gpuaas-usage"
MOST_BYTES = 1 << 20  # of one host
MOST_VALUE = 2**53
MOST_VALUES = 64
READ_SECONDS = 30.0
AT_ONCE = 8
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+~:-]{0,63}")
log = logging.getLogger(__name__)


def counts_folder(instance_id: str) -> str:
    """Return the folder in which a host keeps what it counts for an instance."""
    return f"{FOLDER}/{instance_id}"


def counts_path(instance_id: str, member_id: str) -> str:
    """Return the file in which a host keeps what it counts for a member."""
    return f"{counts_folder(instance_id)}/{member_id}.json"


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """Holds what a host has counted for a member since a time, by metric. Each value only grows. `runtime_version`: what runs
    for the member has said so.
    """

    member_id: str
    since: datetime
    values: Mapping[str, int]
    runtime_version: str | None = None


def parse_counts(text: str) -> list[MemberCounts]:
    """Return the lines that are counts. Other lines are ignored: whoever is root on the host can write anything."""
    return [found for line in text.splitlines() if (found := _parse_line(line)) is not None]


def _parse_line(line: str) -> MemberCounts | None:
    try:
        document = json.loads(line)
        since = datetime.fromisoformat(document["since"])
        values = document["values"]
        valid = all(isinstance(key, str) and _is_count(value) for key, value in values.items())
        if not valid or len(values) > MOST_VALUES or since.tzinfo is None:
            return None
        said = document.get("runtime_version")
        version = said if isinstance(said, str) and _VERSION.fullmatch(said) else None
        return MemberCounts(str(document["member_id"]), since, values, version)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_VALUE


async def read_counts(
    api: AsyncClient, project_id: str, instance_id: str, members: Sequence[InstanceMember]
) -> list[MemberCounts]:
    """Read the counts of all members whose hosts answer. The other hosts keep their counts for the next reading."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    public = key.export_public_key("openssh").decode().strip()
    try:
        access = await api.controller.usage_access(project_id, instance_id, public)
    except (Denied, NotFound) as error:  # such as a tenant that does not consent to it; others are not concerned
        log.info("The counts of %s may not be read: %s", instance_id, error.code)
        return []
    except InvalidRequest as error:
        if error.code != NEEDED:
            raise
        log.info("The counts of %s are not read: this machine has no route to its hosts", instance_id)
        return []
    free = asyncio.Semaphore(AT_ONCE)

    async def read(certificate: SshCertificate) -> list[MemberCounts]:
        there = {one.id for one in members if one.allocation_id == certificate.principal}
        async with free:
            return list(_of_members(await _read_host(certificate, key), there))

    found = await asyncio.gather(*(read(one) for one in access.certificates))
    return [one for of_host in found for one in of_host]


def _of_members(found: Iterable[MemberCounts], member_ids: set[str]) -> Iterable[MemberCounts]:
    return {one.member_id: one for one in found if one.member_id in member_ids}.values()


async def _read_host(certificate: SshCertificate, key: asyncssh.SSHKey) -> list[MemberCounts]:
    try:
        async with asyncio.timeout(READ_SECONDS):
            connection = await connect_with(validate_address(certificate), key)
            try:
                return parse_counts(await _read_bounded(connection))
            finally:
                connection.abort()
    except (OSError, asyncssh.Error, TimeoutError, Failed) as error:
        log.info("The counts of %s were not read: %s", certificate.principal, type(error).__name__)
        return []


async def _read_bounded(connection: asyncssh.SSHClientConnection) -> str:
    """Return what the host prints, up to a bound. The certificate decides what it prints, not the command."""
    process = await connection.create_process("counts", encoding=None, stdin=asyncssh.DEVNULL, stderr=asyncssh.DEVNULL)
    content = bytearray()
    try:
        while len(content) <= MOST_BYTES and (chunk := await process.stdout.read(64 << 10)):
            content += chunk
    finally:
        process.close()
    return content[:MOST_BYTES].decode(errors="replace")
