"""Where the node's key lives. The agent asks a store for a key that signs; whether the private side is a file or sits in
hardware is the store's business. Today there is the file store; decision 0003 says what a TPM store must bring.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from gpuaas_agent import durable, identity
from gpuaas_agent.signing_key import SigningKey

__all__ = ["NEXT", "FileKeyStore", "KeyStore", "SigningKey"]

NEXT = "agent.key.next"


class KeyStore(Protocol):
    """A current key and, while a rotation is under way, the next one. Both survive a kill at any moment."""

    def next_key(self) -> SigningKey:
        """The next key: made, and kept for good, when there is none."""

    def has_next(self) -> bool: ...

    def adopt_next(self) -> None:
        """The next key becomes the current one, in one step; the old one is gone."""

    def discard_next(self) -> None: ...


class FileKeyStore:
    """PEM files in the agent's state folder. A tenant who is root on the host can copy them."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def next_key(self) -> SigningKey:
        return identity.load_or_make_key(self._state_dir, NEXT)

    def has_next(self) -> bool:
        return (self._state_dir / NEXT).exists()

    def adopt_next(self) -> None:
        os.replace(self._state_dir / NEXT, self._state_dir / "agent.key")
        durable.sync_folder(self._state_dir)

    def discard_next(self) -> None:
        durable.remove(self._state_dir / NEXT)
