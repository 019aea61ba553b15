"""Divides a large blob into parts, which are sent one by one and sent again one by one. Pure."""

from collections.abc import Mapping

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.settings import Settings

MOST_PARTS = 10_000  # of one upload to a bucket
LARGEST_REQUEST = 5 << 30  # bytes that a bucket takes or copies at once
_ROUND = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    number: int  # from 1
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Describes how an upload is cut: all parts have `part_bytes`, but the last may have fewer."""

    size_bytes: int
    part_bytes: int

    @property
    def count(self) -> int:
        return -(-self.size_bytes // self.part_bytes)

    def part(self, number: int) -> Part | None:
        if not 1 <= number <= self.count:
            return None
        offset = (number - 1) * self.part_bytes
        return Part(number, offset, min(self.part_bytes, self.size_bytes - offset))

    def parts(self, after: int, limit: int) -> list[Part]:
        numbers = range(after + 1, min(after + limit, self.count) + 1)
        return [part for number in numbers if (part := self.part(number)) is not None]

    def missing(self, received: Mapping[int, int]) -> list[int]:
        """List the parts that have not arrived, or not with their size. `received` has sizes by number."""
        return [part.number for part in self.parts(0, self.count) if received.get(part.number) != part.size_bytes]


@dataclass(frozen=True, slots=True)
class PartedUpload:
    """An upload in parts that has begun. `name` is what the store calls it."""

    project_id: str
    intent_id: str
    name: str
    layout: Layout


def part_bytes_for(settings: Settings, size_bytes: int | None) -> int | None:
    """Return the size of the parts of such a blob, or None when it is sent as a whole."""
    if size_bytes is None or size_bytes <= settings.upload_part_bytes:
        return None
    needed = -(-size_bytes // MOST_PARTS)
    return settings.upload_part_bytes if needed <= settings.upload_part_bytes else -(-needed // _ROUND) * _ROUND
