"""Stores the node's key. The agent gets a signing key from a store, which may keep the private key in a file or in
hardware. Only the file store exists today; decision 0003 describes the requirements for a TPM store.
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
    """A current key and, during a rotation, the next one. Both survive a kill at any moment."""

    def next_key(self) -> SigningKey:
        """Return the next key; create and store it if there is none."""

    def has_next(self) -> bool: ...

    def adopt_next(self) -> None:
        """Replace the current key with the next one, atomically."""

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
