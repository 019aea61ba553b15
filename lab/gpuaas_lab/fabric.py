"""The network of a fleet: a bridge in a separate namespace, with one link to the machine and one to each host.

Hosts reach the machine at the gateway address; there is no route beyond it.
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
    """Create the network interface of a host."""
    for namespace, commands in _attaching(host):
        _ip(commands, namespace)


def _attaching(host: HostLayout) -> list[tuple[str | None, list[str]]]:
    """Return (namespace, commands of `ip`) in order."""
    bridge = host.fleet.bridge_namespace
    card = f"name eth0 address {mac_of(host.address)} netns {host.namespace}"
    make = [f"netns add {host.namespace}", f"link add {host.bridge_port} netns {bridge} type veth peer {card}"]
    configure = [
        "link set lo up",
        f"addr add {host.address}/24 dev eth0",
        "link set eth0 up",
        f"route add default via {host.fleet.gateway}",
    ]
    return [(None, make), (bridge, [f"link set {host.bridge_port} master br0 up"]), (host.namespace, configure)]


def renew_script(host: HostLayout) -> str:
    """Return shell lines that replace a host's network interface and namespace, so that no state of it stays."""
    lines = [
        f"ip -n {host.fleet.bridge_namespace} link del {host.bridge_port} || true",
        f"ip netns del {host.namespace} || true",
    ]
    for namespace, commands in _attaching(host):
        where = f"-n {namespace} " if namespace else ""
        text = "\\n".join(commands)
        lines.append(f"printf '{text}\\n' | ip {where}-batch -")
    return "\n".join(lines)


def silence(host: HostLayout) -> None:
    """Disconnect the host: nothing that it sends arrives."""
    execute(["ip", "-n", host.fleet.bridge_namespace, "link", "set", host.bridge_port, "down"], check=False)


def detach(host: HostLayout) -> None:
    """Remove a host's interface. The bridge port is removed first: it would outlive the namespace for a while."""
    execute(["ip", "-n", host.fleet.bridge_namespace, "link", "del", host.bridge_port], check=False)
    remove_namespace(host.namespace)


def namespaces() -> list[str]:
    return sorted(path.name for path in NETNS_DIR.glob(f"{PREFIX}*"))


def links() -> list[str]:
    shown = json.loads(execute(["ip", "-json", "link", "show"]).stdout or "[]")
    return sorted(link["ifname"] for link in shown if link["ifname"].startswith(PREFIX))


def subnets_in_use() -> set[int]:
    """Return the third octets of all 10.77 addresses of this machine, including those that are not the lab's."""
    shown = json.loads(execute(["ip", "-json", "-4", "addr", "show"]).stdout or "[]")
    addresses = [str(entry["local"]) for link in shown for entry in link.get("addr_info", [])]
    return {int(address.split(".")[2]) for address in addresses if address.startswith("10.77.")}


def remove_namespace(name: str) -> None:
    if (NETNS_DIR / name).exists():
        execute(["ip", "netns", "del", name], check=False)
        # A process was killed after it created the file and before it mounted the namespace on it.
        (NETNS_DIR / name).unlink(missing_ok=True)


def remove_network(number: int) -> None:
    """Remove all network objects of one fleet, found by name."""
    for link in links():
        if fleet_number_of(link) == number:
            execute(["ip", "link", "del", link], check=False)
    for namespace in reversed(namespaces()):
        if fleet_number_of(namespace) == number:
            remove_namespace(namespace)
