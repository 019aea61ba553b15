"""The counters of a replica, in Prometheus format, served on the loopback address only."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpuaas_sdk.generated.models import Operation

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"


@dataclass
class Metrics:
    """The counters of a replica: claimed operations, how they ended, and how long they had waited."""

    claims: Counter[str] = field(default_factory=Counter)
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    waited_seconds: float = 0.0  # from request to claim, first attempts only
    waited_count: int = 0

    def count_claim(self, operation: Operation) -> None:
        """Count an operation that this replica has claimed."""
        self.claims[operation.kind] += 1
        if operation.attempt == 1 and operation.created_at is not None:
            self.waited_seconds += max(0.0, (datetime.now(UTC) - operation.created_at).total_seconds())
            self.waited_count += 1

    def count_end(self, kind: str, outcome: str) -> None:
        """Count the end of an operation."""
        self.ends[kind, outcome] += 1

    @property
    def running(self) -> int:
        """Return how many operations run now."""
        return self.claims.total() - self.ends.total()

    def text(self) -> str:
        """Return the counters in the text format of Prometheus."""
        lines = ["# TYPE gpuaas_controller_claims_total counter"]
        lines += [f'gpuaas_controller_claims_total{{kind="{kind}"}} {n}' for kind, n in sorted(self.claims.items())]
        lines.append("# TYPE gpuaas_controller_ends_total counter")
        for (kind, outcome), n in sorted(self.ends.items()):
            lines.append(f'gpuaas_controller_ends_total{{kind="{kind}",outcome="{outcome}"}} {n}')
        lines += ["# TYPE gpuaas_controller_running gauge", f"gpuaas_controller_running {self.running}"]
        lines.append("# TYPE gpuaas_controller_claim_wait_seconds summary")
        lines.append(f"gpuaas_controller_claim_wait_seconds_sum {self.waited_seconds:.6f}")
        lines.append(f"gpuaas_controller_claim_wait_seconds_count {self.waited_count}")
        return "\n".join(lines) + "\n"

    async def serve(self, port: int) -> asyncio.Server:
        """Answer HTTP requests for the counters on this port of the loopback address."""

        async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                async with asyncio.timeout(5):
                    await reader.readuntil(b"\r\n\r\n")
                body = self.text().encode()
                writer.write(_HEAD % len(body) + body)
                await writer.drain()
            except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
                pass
            finally:
                writer.close()

        return await asyncio.start_server(respond, "127.0.0.1", port)
