"""HTTP/1.1 with bounds: how large, how many and how slow the parts of a request may be, before the application sees it.

uvicorn's protocol has none. A request that arrives whole, as nearly all do, costs a few comparisons more; timers run only
while one is incomplete. A refused request gets a problem document if an answer is still possible, and the connection ends.
"""

import ssl
import time
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from http import HTTPStatus
from uuid import uuid4

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.client_certificates import read_shown_certificate
from gpuaas_server.kernel.http.connections import Connection, Refusal
from gpuaas_server.kernel.http.problems import problem_response

MOST_FIELDS = 100
# websockets, which reads the header of an upgrade once more, takes lines of 8,192 bytes.
LONGEST_FIELD = 8_000
LONGEST_TARGET = 16_000  # a preview of 256 placements names them all in its query
MOST_PIPELINED = 8
BODY_BYTES_A_SECOND = 1024
# Chunk sizes, their extensions and trailers may be so many times the payload, and a header's worth beyond it.
FRAMING_FACTOR = 8
LINGER_SECONDS = 1.0

TARGET_TOO_LONG = Refusal("target_too_long", "target_too_long", f"A target may have {LONGEST_TARGET} bytes.")
FIELD_TOO_LARGE = Refusal("header_too_large", "header_too_large", f"A header field may have {LONGEST_FIELD} bytes.")
TOO_MANY_FIELDS = Refusal("too_many_fields", "header_too_large", f"A header may have {MOST_FIELDS} fields.")
MALFORMED = Refusal("malformed", "malformed_request", "The bytes cannot be read as HTTP/1.1.")
FRAMING = Refusal("framing", "malformed_request", "The body consists almost only of chunk framing.")
PIPELINED = Refusal("pipelined", "malformed_request", f"At most {MOST_PIPELINED} requests may wait on a connection.")
UNAUTHENTICATED_BODIES = Refusal("bodies_full", "unavailable", "Too many request bodies wait for authentication.", True)
UNREAD_BODY = Refusal("unread_body", "body_too_large", "The unread rest of the body is too large.")
HEADER_LATE = Refusal("header_late", "request_timeout", "The header was not complete in time.")
BODY_LATE = Refusal("body_late", "request_timeout", "The body arrived too slowly.")


@dataclass(frozen=True, slots=True)
class RequestBounds:
    """Limits how large and how slow the parts of a request may be."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    body_bytes: int  # of a body that nobody reads any more
    idle_seconds: float  # before authentication
    keep_alive_seconds: int


# Where the parser is. Not an Enum: these are looked at several times in every request.
_BETWEEN, _HEADER, _BODY = range(3)


class _RequestRefused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class BoundedHttpProtocol(HttpToolsProtocol):
    # There are thousands of them, and Python keeps no more than thirty attributes of an object cheaply without slots.
    __slots__ = (
        "_begun",
        "_bounds",
        "_connection",
        "_dry",
        "_ended",
        "_feeding",
        "_framed",
        "_header_bytes",
        "_payload",
        "_payload_seen",
        "_phase",
        "_timed",
        "_timer",
        "_unread",
        "_write_timer",
    )

    def __init__(
        self, config: Config, server_state: ServerState, connection: Connection, bounds: RequestBounds
    ) -> None:
        # Every request of the connection gets this state, and so does the WebSocket that it may become.
        super().__init__(config, server_state, {"connection": connection})
        self._connection = connection
        self._bounds = bounds
        self.url = b""
        self._timer: TimerHandle | None = None
        self._timed: int | None = None
        self._write_timer: TimerHandle | None = None
        self._ended = False
        self._phase = _BETWEEN
        self._begun = 0  # requests that began in the bytes being read
        self._header_bytes = 0  # of the request that is being read, as far as it came before those bytes
        self._feeding = 0
        self._payload = 0
        self._payload_seen = 0  # at the last look of the timer
        self._framed = 0  # bytes of the body with all framing
        self._dry = 0  # bytes of the body, with framing, since the last payload
        self._unread = 0

    # Connection

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client = self._connection.client
        self._connection.evict = self._evict
        if self.config.ssl is not None and self.config.ssl.verify_mode is not ssl.CERT_NONE:
            self._connection.certificate = read_shown_certificate(transport)
        passed = time.monotonic() - self._connection.opened_at
        limit = self._bounds.header_seconds if self._connection.refusal is None else LINGER_SECONDS
        self._start_timer(_HEADER, max(limit - passed, 0.0), self._header_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._stop_timer()
        self._stop_write_timer()
        self._unset_keepalive_if_required()
        self._connection.evict = None
        self._connection.close()
        super().connection_lost(exc)

    def _evict(self) -> bool:
        if self._is_answering():
            return False
        self.transport.abort()
        return True

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # Reading

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        if self._connection.refusal is not None:
            self._refuse(self._connection.refusal, count=False)
            return
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        try:
            while data and not self._ended:
                data = self._feed(data)
        except _RequestRefused as refused:
            self._refuse(refused.refusal)
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self._refuse(cause.refusal if isinstance(cause, _RequestRefused) else MALFORMED)
        except httptools.HttpParserError:
            self._refuse(MALFORMED)
        except httptools.HttpParserUpgrade:
            self._upgrade()

    def _feed(self, data: bytes) -> bytes:
        """Parse what has arrived, of a header no more than is allowed. The rest is returned."""
        room = self._bounds.header_bytes - self._header_bytes
        piece = data if len(data) <= room or self._phase == _BODY else data[:room]
        began_in, self._begun, self._feeding, payload = self._phase, 0, len(piece), self._payload
        self.parser.feed_data(piece)
        if self._phase == _BETWEEN and (self._begun or began_in != _BETWEEN):
            if self._timed is not None:
                self._stop_timer()
        else:
            self._look_at_incomplete(began_in, len(piece), self._payload == payload)
        return data[len(piece) :] if piece is not data else b""

    def _look_at_incomplete(self, began_in: int, count: int, is_dry: bool) -> None:
        if self._phase == _BODY:
            self._look_at_framing(count, is_dry)
            if self._timed != _BODY:
                self._start_timer(_BODY, self._bounds.body_seconds, self._look_at_progress)
            return
        # The bytes of what came before in the same piece are not this header's.
        if began_in != _BODY and self._begun <= 1:
            self._header_bytes += count
        if self._header_bytes >= self._bounds.header_bytes:
            raise _RequestRefused(self._too_large())
        if self._timed != _HEADER:
            self._start_timer(_HEADER, self._bounds.header_seconds, self._header_late)

    def _look_at_framing(self, count: int, is_dry: bool) -> None:
        """Refuse chunk extensions and trailers: nobody reads them, and they have no bound."""
        self._framed += count
        self._dry = self._dry + count if is_dry else 0
        most = count + self._bounds.header_bytes
        if self._dry > most or self._framed > most + self._payload * FRAMING_FACTOR:
            raise _RequestRefused(FRAMING)

    def _too_large(self) -> Refusal:
        if self._phase == _HEADER and not self.headers and len(self.url) > LONGEST_TARGET:
            return TARGET_TOO_LONG
        detail = f"Request line and header may have {self._bounds.header_bytes} bytes."
        return Refusal("header_too_large", "header_too_large", detail)

    def on_message_begin(self) -> None:
        self._begun += 1
        self._phase = _HEADER
        self._header_bytes = self._payload = self._payload_seen = self._framed = self._dry = self._unread = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase != _HEADER:
            return  # a trailer: nobody would expect it among the header's fields
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if len(self.headers) > MOST_FIELDS:
            raise _RequestRefused(TOO_MANY_FIELDS)
        if self._header_bytes + self._feeding > LONGEST_FIELD:
            self._measure()
        if len(self.pipeline) >= MOST_PIPELINED:
            raise _RequestRefused(PIPELINED)
        self._phase = _BODY
        super().on_headers_complete()

    def _measure(self) -> None:
        """Check the length of each header field, unless the whole request is short."""
        if len(self.url) > LONGEST_TARGET:
            raise _RequestRefused(TARGET_TOO_LONG)
        sizes = [len(name) + len(value) + 4 for name, value in self.headers]
        if sizes and max(sizes) > LONGEST_FIELD:
            raise _RequestRefused(FIELD_TOO_LARGE)
        if len(self.url) + sum(sizes) > self._bounds.header_bytes:
            raise _RequestRefused(self._too_large())

    def on_body(self, body: bytes) -> None:
        self._payload += len(body)
        if not self._connection.authenticated and not self._connection.take_body(len(body)):
            raise _RequestRefused(UNAUTHENTICATED_BODIES)
        if self.cycle is not None and self.cycle.response_complete:
            self._unread += len(body)
            if self._unread > self._bounds.body_bytes:
                raise _RequestRefused(UNREAD_BODY)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._phase = _BETWEEN
        self._header_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        authenticated = self._connection.authenticated
        self.timeout_keep_alive = self._bounds.keep_alive_seconds if authenticated else self._bounds.idle_seconds  # type: ignore[assignment]
        if not authenticated:
            self._connection.release_body()
        super().on_response_complete()

    def _upgrade(self) -> None:
        if self._should_upgrade():
            self._stop_timer()
            self._stop_write_timer()
            self._connection.evict = None
            self.handle_websocket_upgrade()
        elif self.cycle is not None:
            self.cycle.keep_alive = (
                False  # answered as a plain request, without the upgrade; further bytes are not read
            )
            self._ended = True

    # Clocks

    def _start_timer(self, phase: int, seconds: float, late: Callable[[], None]) -> None:
        self._stop_timer()
        self._timed = phase
        self._timer = self.loop.call_later(seconds, late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timed = None

    def _header_late(self) -> None:
        if self._phase == _BETWEEN:
            metrics.connections_refused.labels(HEADER_LATE.reason).inc()
            self.transport.abort()  # nothing was asked, so nothing is answered
        else:
            self._refuse(HEADER_LATE)

    def _look_at_progress(self) -> None:
        """Close a connection whose client is too slow, unless it is the client who waits for us."""
        enough = self._payload - self._payload_seen >= BODY_BYTES_A_SECOND * self._bounds.body_seconds
        self._payload_seen = self._payload
        cycle = self.cycle
        ours = (
            cycle is not None
            and not cycle.response_complete
            and (self.flow.read_paused or cycle.waiting_for_100_continue)
        )
        if ours or (enough and self._connection.authenticated):
            self._start_timer(_BODY, self._bounds.body_seconds, self._look_at_progress)
        else:
            self._refuse(BODY_LATE)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _watch_writing(self, size: int) -> None:
        self._write_timer = self.loop.call_later(2 * self._bounds.body_seconds, self._look_at_writing, size)

    def _look_at_writing(self, before: int) -> None:
        """Close a connection whose client has read nothing of the answer for too long."""
        size = self.transport.get_write_buffer_size()
        if size >= before:
            metrics.connections_refused.labels("answer_unread").inc()
            self.transport.abort()
        else:
            self._watch_writing(size)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    # Refusing

    def _refuse(self, refusal: Refusal, count: bool = True) -> None:
        """Answer if no earlier answer is due, and end the connection."""
        self._ended = True
        self._stop_timer()
        self._unset_keepalive_if_required()
        if count:
            metrics.connections_refused.labels(refusal.reason).inc()
        if self.transport.is_closing():
            return
        if self._may_answer():
            self.transport.write(_answer(refusal))
        self.pipeline.clear()
        if self._is_answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._linger()

    def _may_answer(self) -> bool:
        """Tell whether an answer can be sent: no earlier request waits for its own, and none to this one has begun."""
        if self._phase == _BODY:
            return not self.pipeline and not self.cycle.response_started
        return not self._is_answering()

    def _linger(self) -> None:
        """Keep the connection for a moment: closed with bytes unread, it would be reset, and the answer would be lost."""
        self.flow.pause_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._start_timer(_HEADER, LINGER_SECONDS, self.transport.abort)


def _answer(refusal: Refusal) -> bytes:
    correlation = uuid4().hex
    response = problem_response(refusal.problem(), correlation)
    response.headers["connection"] = "close"
    response.headers["x-correlation-id"] = correlation
    status = HTTPStatus(response.status_code)
    lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode())]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
