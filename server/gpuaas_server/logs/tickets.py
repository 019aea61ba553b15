"""Tickets: which process waits for the lines of which node. Sealed, so that a host can neither read nor make one.

The ticket goes to the agent with its task and comes back with each portion. So no row says who reads what.
"""

from contextlib import suppress
from dataclasses import dataclass

import orjson
from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.sealer import Sealer

PURPOSE = "log reader"


@dataclass(frozen=True, slots=True)
class Ticket:
    read_id: str
    member_id: str
    node_id: str
    holder: str  # the address of the process that reads


def write_ticket(sealer: Sealer, ticket: Ticket) -> str:
    parts = [ticket.read_id, ticket.member_id, ticket.node_id, ticket.holder]
    return sealer.seal(orjson.dumps(parts), PURPOSE).hex()


def read_ticket(sealer: Sealer, text: str) -> Ticket | None:
    """Open a ticket; None for one that this platform did not write."""
    with suppress(ValueError, InvalidTag, TypeError):
        return Ticket(*orjson.loads(sealer.open(bytes.fromhex(text), PURPOSE)))
    return None
