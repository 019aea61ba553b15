"""Tickets: which process waits for the lines of which node. Sealed, so that a host can neither read nor make one.

The ticket goes to the agent with its task and comes back with each portion. So no row says who reads what.
"""

from contextlib import suppress
from datetime import datetime, timedelta

import orjson
from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.sealer import Sealer

PURPOSE = "log reader"
# An agent follows for an hour with one ticket; see LONGEST_SECONDS there.
LIFE = timedelta(hours=1, minutes=5)


@dataclass(frozen=True, slots=True)
class Ticket:
    read_id: str
    member_id: str
    node_id: str
    holder: str  # the address of the process that reads
    ends: int = 0  # Unix time


def write_ticket(sealer: Sealer, ticket: Ticket, now: datetime) -> str:
    parts = [int((now + LIFE).timestamp()), ticket.read_id, ticket.member_id, ticket.node_id, ticket.holder]
    return sealer.seal(orjson.dumps(parts), PURPOSE).hex()


def read_ticket(sealer: Sealer, text: str) -> Ticket | None:
    """Open a ticket; None for one that this platform did not write."""
    with suppress(ValueError, InvalidTag, TypeError):
        ends, read_id, member_id, node_id, holder = orjson.loads(sealer.open(bytes.fromhex(text), PURPOSE))
        return Ticket(read_id, member_id, node_id, holder, ends)
    return None
