"""Combines requests of several operations to the same target into one request.

When sixteen workers join at the same time, sixteen operations need the same few things from the one head node. A request
that arrives while another is in progress waits for the next batch, which serves everyone who arrived in the meantime.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Work = Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]]


@dataclass
class _Request(Generic[Item, Answer]):
    item: Item
    answer: "asyncio.Future[Answer]"


@dataclass
class _Queue(Generic[Item, Answer]):
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: list[_Request[Item, Answer]] = field(default_factory=list)
    users: int = 0


class RequestBatcher(Generic[Item, Answer]):
    def __init__(self) -> None:
        self._queues: dict[str, _Queue[Item, Answer]] = {}

    async def submit(self, target: str, item: Item, work: "Work[Item, Answer]") -> Answer:
        """Returns the answer for the item. `work` gets a batch of items and returns one answer for each, in order. The
        caller whose turn it is runs its `work` for all who wait.
        """
        queue = self._queues.setdefault(target, _Queue())
        mine = _Request[Item, Answer](item, asyncio.get_running_loop().create_future())
        queue.waiting.append(mine)
        queue.users += 1
        try:
            async with queue.turn:
                if not mine.answer.done():
                    await _run_batch(queue, mine, work)
            return mine.answer.result()
        finally:
            queue.users -= 1
            if not queue.users:
                self._queues.pop(target, None)


async def _run_batch(queue: _Queue[Item, Answer], mine: _Request[Item, Answer], work: "Work[Item, Answer]") -> None:
    batch, queue.waiting = queue.waiting, []
    try:
        answers = await work([one.item for one in batch])
    except Exception as error:  # it failed for every request of the batch
        for one in batch:
            one.answer.set_exception(error)
            one.answer.exception()  # marks it as retrieved, in case that caller no longer waits
        return
    except BaseException:  # this caller was cancelled, and only this one: the next in the queue runs the batch again
        queue.waiting = [one for one in batch if one is not mine] + queue.waiting
        raise
    for one, answer in zip(batch, answers, strict=True):
        one.answer.set_result(answer)
