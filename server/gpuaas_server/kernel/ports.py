"""A question of a room to the rooms above it. They import it, so it cannot import them: the answers are given to it.

Given once in each process, where it is put together (introductions.py).
"""

from typing import Generic, TypeVar

Answers = TypeVar("Answers")


class Port(Generic[Answers]):
    """`port.give(answers)` at the start; `port()` is whoever answers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._answers: Answers | None = None

    def give(self, answers: Answers) -> None:
        self._answers = answers

    def __call__(self) -> Answers:
        if self._answers is None:
            raise RuntimeError(f"nobody was introduced as {self._name}")
        return self._answers
