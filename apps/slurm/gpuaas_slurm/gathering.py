"""What several operations ask of one place at the same moment is asked once, for all of them.

Sixteen workers that join at once are sixteen operations, and each of them wants the same few things of the one controller's
host. Whoever comes while a question is on its way waits for the next, and that one is for everybody who came meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Work = Callable[[Sequence[Asked]], Awaitable[Sequence[Answer]]]


@dataclass
class _Wish(Generic[Asked, Answer]):
    asked: Asked
    answer: "asyncio.Future[Answer]"


@dataclass
class _Line(Generic[Asked, Answer]):
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: list[_Wish[Asked, Answer]] = field(default_factory=list)
    inside: int = 0


class Gathering(Generic[Asked, Answer]):
    def __init__(self) -> None:
        self._lines: dict[str, _Line[Asked, Answer]] = {}

    async def ask(self, place: str, asked: Asked, work: "Work[Asked, Answer]") -> Answer:
        """`work` has an answer for each of those that it is given, in their order. Whose turn it is works for all who wait."""
        line = self._lines.setdefault(place, _Line())
        mine = _Wish[Asked, Answer](asked, asyncio.get_running_loop().create_future())
        line.waiting.append(mine)
        line.inside += 1
        try:
            async with line.turn:
                if not mine.answer.done():
                    await _work_for_all(line, mine, work)
            return mine.answer.result()
        finally:
            line.inside -= 1
            if not line.inside:
                self._lines.pop(place, None)


async def _work_for_all(line: _Line[Asked, Answer], mine: _Wish[Asked, Answer], work: "Work[Asked, Answer]") -> None:
    taken, line.waiting = line.waiting, []
    try:
        answers = await work([one.asked for one in taken])
    except Exception as error:  # what failed has failed for everybody who asked for it
        for one in taken:
            one.answer.set_exception(error)
            one.answer.exception()  # who no longer waits for it does not make it a loss
        return
    except BaseException:  # who is told to end speaks for itself alone: the next in the line asks again
        line.waiting = [one for one in taken if one is not mine] + line.waiting
        raise
    for one, said in zip(taken, answers, strict=True):
        one.answer.set_result(said)
