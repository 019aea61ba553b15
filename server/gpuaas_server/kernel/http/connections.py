"""The connections of one api process: how many there are, whose they are, and whether another one is accepted.

A connection counts against its address only until it has carried an authenticated request: ten thousand agents may share
one address, but unauthenticated clients there get no more than their share. See docs/decisions/0024.
"""

import time
from collections.abc import Callable
from dataclasses import field
from itertools import islice

from starlette.requests import HTTPConnection

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.client_certificates import NO_CERTIFICATE, ShownCertificate
from gpuaas_server.kernel.networks import network_of

# A connection that has sent nothing for so long may be closed to make room. With a shorter time, many clients that connect
# at once would evict each other.
EVICTABLE_AFTER_SECONDS = 2.0
EVICTION_CANDIDATES = 32
# When the process is full, an address with so many unauthenticated connections has to make room for others before that.
CROWD = 64
# At most so many connections are refused with a problem document at the same time; further ones are closed without an answer.
MOST_REFUSALS_AT_ONCE = 64
# Bodies are read before authentication. These limit the memory that unauthenticated clients may use, in all and by address.
UNAUTHENTICATED_BODY_BYTES = 64 << 20
ADDRESS_BODY_BYTES = 16 << 20
RETRY_SECONDS = "2"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits how many connections an api process accepts in all, unauthenticated, and per address."""

    connections: int
    unauthenticated: int
    per_address: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Says why a connection or a request is refused: `reason` is the metric's label, `code` the one of the answer."""

    reason: str
    code: str
    detail: str
    retry: bool = False

    def problem(self) -> Problem:
        return Problem(self.code, self.detail, headers={"Retry-After": RETRY_SECONDS} if self.retry else {})


FULL = Refusal("full", "unavailable", "This api process has as many connections as it can serve.", True)
UNAUTHENTICATED_FULL = Refusal(
    "unauthenticated_full", "unavailable", "Too many connections wait for their first authenticated request.", True
)
ADDRESS_FULL = Refusal(
    "address_full",
    "too_many_connections",
    "Too many connections from your address wait for their first authenticated request.",
    True,
)


@dataclass(slots=True, eq=False)
class Connection:
    """One connection. `evict` closes it when it is idle, and says whether it did; the protocol that serves it sets it."""

    client: tuple[str, int]
    opened_at: float = field(default_factory=time.monotonic)
    authenticated: bool = False
    refusal: Refusal | None = None
    evict: Callable[[], bool] | None = None
    table: "ConnectionTable | None" = None
    network: str = ""
    body_bytes: int = 0
    certificate: ShownCertificate = NO_CERTIFICATE

    def authenticate(self) -> None:
        if not self.authenticated:
            self.authenticated = True
            if self.table is not None:
                self.table.forget_unauthenticated(self)

    def close(self) -> None:
        """Remove a connection that has ended. Repeating it is no error."""
        table, self.table = self.table, None
        if table is not None:
            table.remove(self)

    def take_body(self, count: int) -> bool:
        """Tell whether this many more bytes of an unauthenticated request's body may be kept."""
        return self.authenticated or self.table is None or self.table.take_body(self, count)

    def release_body(self) -> None:
        if self.body_bytes and self.table is not None:
            self.table.release_body(self)


@dataclass(slots=True)
class _Network:
    """Counts what the unauthenticated connections of one address use."""

    unauthenticated: dict[Connection, None] = field(default_factory=dict)
    body_bytes: int = 0


class ConnectionTable:
    """Counts every connection from its start to its end, and knows its client once that is identified.

    One that is not identified, such as from a proxy with many clients, has no limit by address.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.open = 0
        self.refusing = 0
        self._unauthenticated: dict[Connection, None] = {}  # oldest first
        self._networks: dict[str, _Network] = {}
        self._body_bytes = 0

    @property
    def unauthenticated(self) -> int:
        return len(self._unauthenticated)

    def add(self, connection: Connection) -> None:
        """Count a new connection, of which only the peer is known. It may get a refusal, and is counted apart then."""
        connection.table = self
        connection.refusal = self._room()
        if connection.refusal is None:
            self.open += 1
            self._unauthenticated[connection] = None
        else:
            self._count_refused(connection)

    def identify(self, connection: Connection) -> None:
        """Count it against the address of its client, once that is known. It may get a refusal."""
        if connection.refusal is not None or connection.table is None:
            return
        name = network_of(connection.client[0])
        known = self._networks.get(name)
        most = self.limits.per_address
        if (
            known is not None
            and len(known.unauthenticated) >= most
            and not self._evict_one(known.unauthenticated, most + 1)
        ):
            self._uncount(connection)
            connection.refusal = ADDRESS_FULL
            self._count_refused(connection)
            return
        connection.network = name
        self._networks.setdefault(name, _Network()).unauthenticated[connection] = None

    def _room(self) -> Refusal | None:
        if self.open >= self.limits.connections and not self._evict_one(self._unauthenticated, CROWD):
            return FULL
        if len(self._unauthenticated) >= self.limits.unauthenticated and not self._evict_one(
            self._unauthenticated, CROWD
        ):
            return UNAUTHENTICATED_FULL
        return None

    def _count_refused(self, connection: Connection) -> None:
        self.refusing += 1
        if connection.refusal is not None:
            metrics.connections_refused.labels(connection.refusal.reason).inc()

    def forget_unauthenticated(self, connection: Connection) -> None:
        """Stop counting it against its address: it was authenticated, or has ended."""
        self._unauthenticated.pop(connection, None)
        self.release_body(connection)
        network = self._networks.get(connection.network)
        if network is not None:
            network.unauthenticated.pop(connection, None)
            if not network.unauthenticated:
                del self._networks[connection.network]
        connection.network = ""

    def _uncount(self, connection: Connection) -> None:
        self.open -= 1
        self.forget_unauthenticated(connection)

    def remove(self, connection: Connection) -> None:
        if connection.refusal is not None:
            self.refusing -= 1
        else:
            self._uncount(connection)

    def take_body(self, connection: Connection, count: int) -> bool:
        network = self._networks.get(connection.network)
        ours = 0 if network is None else network.body_bytes
        if self._body_bytes + count > UNAUTHENTICATED_BODY_BYTES or ours + count > ADDRESS_BODY_BYTES:
            return False
        self._body_bytes += count
        connection.body_bytes += count
        if network is not None:
            network.body_bytes += count
        return True

    def release_body(self, connection: Connection) -> None:
        network = self._networks.get(connection.network)
        if network is not None:
            network.body_bytes -= connection.body_bytes
        self._body_bytes -= connection.body_bytes
        connection.body_bytes = 0

    def _evict_one(self, unauthenticated: dict[Connection, None], crowd: int) -> bool:
        """Close the oldest idle unauthenticated connection for a new one; False when there is none."""
        old = time.monotonic() - EVICTABLE_AFTER_SECONDS
        for connection in list(islice(unauthenticated, EVICTION_CANDIDATES)):
            network = self._networks.get(connection.network)
            is_old = connection.opened_at <= old or (network is not None and len(network.unauthenticated) >= crowd)
            if is_old and connection.evict is not None and connection.evict():
                connection.close()
                metrics.connections_refused.labels("evicted").inc()
                return True
        return False


def mark_authenticated(request: HTTPConnection) -> None:
    """Mark the connection of this request as authenticated."""
    connection: Connection | None = request.scope["state"].get("connection")
    if connection is not None:
        connection.authenticate()
