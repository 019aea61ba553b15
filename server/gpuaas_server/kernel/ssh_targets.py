"""Describes where `ssh` connects to: address, port and user, in the only forms that may reach a command line or a client's
file.

A host reports where it can be reached. This becomes an argument of `ssh` on a workstation and a line of its `known_hosts`, so
nothing is accepted that could be an option, a second line or another word. Pure.
"""

import re
from collections.abc import Collection

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.networks import IPV6_PATTERN, parse_address

_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DNS_NAME = rf"{_LABEL}(\.{_LABEL})*"  # every IPv4 address has this form too
_NAME = re.compile(_DNS_NAME)
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_LONGEST_NAME = 253
# What `normal_target_address` takes, as JSON Schema says it.
TARGET_ADDRESS_SCHEMA: dict[str, int | str] = {"maxLength": _LONGEST_NAME, "pattern": f"^({_DNS_NAME}|{IPV6_PATTERN})$"}


@dataclass(frozen=True, slots=True)
class SshEndpoint:
    """The address, port and user that `ssh` connects to."""

    address: str
    port: int
    user: str

    def document(self) -> dict[str, object]:
        return {"address": self.address, "port": self.port, "user": self.user}


def normal_target_address(text: object) -> str | None:
    """Return the usual spelling of an IP address or DNS name; None for everything else."""
    if not isinstance(text, str) or "%" in text:  # a zone may have any letter in it
        return None
    try:
        return str(parse_address(text))
    except ValueError:
        pass
    return text.lower() if len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) else None


def read_endpoint(address: object, port: object, user: object) -> SshEndpoint | None:
    """Return the endpoint, or None when a part of it has a form that no client may get."""
    where = normal_target_address(address)
    if where is None or not isinstance(user, str) or not _USER.fullmatch(user):
        return None
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        return None
    return SshEndpoint(where, port, user)


def check_reported_endpoint(reported: object, addresses: Collection[str], user: str) -> SshEndpoint | str:
    """Return the endpoint that a host reported for an allocation, or a sentence why it is refused.

    `addresses` are those that belong to the node; `user` is the account that the platform asked for.
    """
    if not isinstance(reported, dict):
        return "The host reported no way in."
    found = read_endpoint(reported.get("address"), reported.get("port"), reported.get("user"))
    if found is None:
        return "The host reported an SSH address, port or user of a wrong form."
    if found.address not in addresses:
        return f"The host reported the SSH address {found.address}, which does not belong to its node."
    if found.user != user:
        return f"The host reported the SSH user {found.user} instead of {user}."
    return found
