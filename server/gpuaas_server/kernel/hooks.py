"""Lets a noun call a noun above it: it declares a hook, and `wiring.py` connects the functions at the start of a process.

The nouns above import the noun below, so it cannot import them. A hook is the only way up.
"""

from typing import Generic, TypeVar

Functions = TypeVar("Functions")


class Hook(Generic[Functions]):
    """`wiring.py` calls `hook.connect(functions)` at the start of a process; the noun below calls `hook()` to use them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._functions: Functions | None = None

    def connect(self, functions: Functions) -> None:
        self._functions = functions

    def __call__(self) -> Functions:
        if self._functions is None:
            raise RuntimeError(f"nothing is connected to the hook {self._name}")
        return self._functions
