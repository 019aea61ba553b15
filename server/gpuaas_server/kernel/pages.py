"""Pages of lists: which one is asked for, and the SQL that reads it. Ids sort by time: the last id of a page is its cursor."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import fetch_all

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Names which page of a list is asked for: what comes after this id, and how many items of it."""

    after: str | None
    limit: int

    @property
    def rows(self) -> int:
        """Return how many rows a query reads: the one beyond the page says that there is a next page."""
        return self.limit + 1


async def fetch_page(
    connection: Connection,
    row: type[Row],
    statement: str,
    parameters: Sequence[object] | Mapping[str, object],
    page: PageRequest,
    *,
    key: str = "id",
) -> list[Row]:
    """Read the rows of a page, newest first. The statement ends with its WHERE, to which the page is added."""
    if isinstance(parameters, Mapping):
        after, limit = "%(after)s", "%(limit)s"
        values: Sequence[object] | Mapping[str, object] = {**parameters, "after": page.after, "limit": page.rows}
    else:
        after, limit = "%s", "%s"
        values = (*parameters, page.after, page.rows)
    paged = f"{statement} AND {key} < coalesce({after}, 'zzz') ORDER BY {key} DESC LIMIT {limit}"
    return await fetch_all(connection, row, paged, values)
