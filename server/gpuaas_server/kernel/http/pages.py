"""Cursor pagination: ids sort by time, so the id of the last item is the cursor of the next page."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel, Field

from gpuaas_server.kernel.pages import PageRequest

Item = TypeVar("Item", bound=BaseModel)


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last page.")

    @classmethod
    def of(cls, rows: Sequence[Item], page: PageRequest) -> "Page[Item]":
        """Make the page that was asked for from the rows that a query has read for it."""
        items = list(rows[: page.limit])
        last: str | None = items[-1].id if len(rows) > page.limit else None  # type: ignore[attr-defined]
        return cls(items=items, next_cursor=last)
