"""Cursor pagination: ids sort by time, so the id of the last item is the cursor of the next page."""

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

PageLimit = Annotated[int, Query(ge=1, le=200, description="Largest number of items.")]
PageAfter = Annotated[
    str | None,
    Query(pattern="^[a-z]{2,3}_[0-9a-z]{26}$", description="Cursor: `next_cursor` of the previous page."),
]


Item = TypeVar("Item", bound=BaseModel)


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last page.")

    @classmethod
    def of(cls, rows: Sequence[Item], limit: int) -> "Page[Item]":
        """Make a page. Queries ask for limit + 1 rows: the extra one says that there is a next page."""
        items = list(rows[:limit])
        last: str | None = items[-1].id if len(rows) > limit else None  # type: ignore[attr-defined]
        return cls(items=items, next_cursor=last)
