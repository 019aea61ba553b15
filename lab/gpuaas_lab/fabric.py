"""The network of a fleet: a bridge in a namespace of its own, one leg to the machine, one to each host.

Hosts reach the machine at the gateway address; nothing routes further.
"""

import json
from pathlib import Path

from gpuaas_lab.commands import execute
from gpuaas_lab.layout import PREFIX, FleetLayout, HostLayout, fleet_number_of, mac_of

NETNS_DIR = Path("/run/netns")


def _ip(commands: list[str], namespace: str | None = None) -> None:
    where = ["-n", namespace] if namespace else []
    execute(["ip", *where, "-batch", "-"], text="\n".join(commands) + "\n")


def create_bridge(fleet: FleetLayout) -> None:
    namespace, link = fleet.bridge_namespace, fleet.gateway_link
    _ip(
        [
            f"netns add {namespace}",
            f"link add {link} address {mac_of(fleet.gateway)} type veth peer name uplink netns {namespace}",
            f"addr add {fleet.gateway}/24 dev {link}",
            f"link set {link} up",
        ]
    )
    _ip(
        [
            "link set lo up",
            "link add br0 type bridge",
            "link set br0 up",
            "link set uplink master br0 up",
        ],
        namespace,
    )


def attach(host: HostLayout) -> None:
    """Give a host its network card."""
    bridge = host.fleet.bridge_namespace
    card = f"name eth0 address {mac_of(host.address)} netns {host.namespace}"
    _ip(
        [
            f"netns add {host.namespace}",
            f"link add {host.bridge_port} netns {bridge} type veth peer {card}",
        ]
    )
    _ip([f"link set {host.bridge_port} master br0 up"], bridge)
    _ip(
        [
            "link set lo up",
            f"addr add {host.address}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {host.fleet.gateway}",
        ],
        host.namespace,
    )


def silence(host: HostLayout) -> None:
    """Pull the cable: from now on nothing that the host sends arrives."""
    execute(["ip", "-n", host.fleet.bridge_namespace, "link", "set", host.bridge_port, "down"], check=False)


def detach(host: HostLayout) -> None:
    """Take the card out. The port goes first: with the namespace alone it would linger."""
    execute(["ip", "-n", host.fleet.bridge_namespace, "link", "del", host.bridge_port], check=False)
    remove_namespace(host.namespace)


def namespaces() -> list[str]:
    return sorted(path.name for path in NETNS_DIR.glob(f"{PREFIX}*"))


def links() -> list[str]:
    shown = json.loads(execute(["ip", "-json", "link", "show"]).stdout or "[]")
    return sorted(link["ifname"] for link in shown if link["ifname"].startswith(PREFIX))


def subnets_in_use() -> set[int]:
    """Third octets of this machine's own 10.77 addresses, the lab's or somebody else's."""
    shown = json.loads(execute(["ip", "-json", "-4", "addr", "show"]).stdout or "[]")
    addresses = [str(entry["local"]) for link in shown for entry in link.get("addr_info", [])]
    return {int(address.split(".")[2]) for address in addresses if address.startswith("10.77.")}


def remove_namespace(name: str) -> None:
    if (NETNS_DIR / name).exists():
        execute(["ip", "netns", "del", name], check=False)
        # Left by a process that was killed between the file and the mount on it.
        (NETNS_DIR / name).unlink(missing_ok=True)


def remove_network(number: int) -> None:
    """Everything of one fleet on the network, found by name."""
    for link in links():
        if fleet_number_of(link) == number:
            execute(["ip", "link", "del", link], check=False)
    for namespace in reversed(namespaces()):
        if fleet_number_of(namespace) == number:
            remove_namespace(namespace)
