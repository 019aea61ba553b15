"""A coroutine that stops at one of its awaits until it is told to go on, as the code of a frozen process does."""

import asyncio
import types
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


class Freezer:
    """Stops at the await with this number; what was sent before is on its way, and answers to it may come meanwhile."""

    def __init__(self, at: int) -> None:
        self._at = at
        self._seen = 0
        self._thawed = asyncio.Event()
        self.frozen = asyncio.Event()

    def thaw(self) -> None:
        self._thawed.set()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Awaitable[Result]:
        return self._stepped(coroutine)

    @types.coroutine
    def _stepped(self, coroutine: Coroutine[Any, Any, Result]) -> Generator[Any, Any, Result]:
        step, value = coroutine.send, None
        while True:
            try:
                awaited = step(value)
            except StopIteration as end:
                result: Result = end.value
                return result
            self._seen += 1
            if self._seen == self._at:
                self.frozen.set()
                yield from self._thawed.wait().__await__()
            try:
                step, value = coroutine.send, (yield awaited)
            except BaseException as error:
                step, value = coroutine.throw, error  # type: ignore[assignment]
