"""A slice inside a host, by the commands of SLICE_RECIPE.md."""

import socket
import time

import pytest

from gpuaas_lab import Fleet, Host
from gpuaas_lab.host import BOOT_TIMEOUT

pytestmark = pytest.mark.lab

_START = """
D=/var/lib/gpuaas/slices/$N
mkdir -p $D/upper $D/work $D/root $D/layer/etc/ssh
echo $N > $D/layer/etc/hostname
tr -d - < /proc/sys/kernel/random/uuid > $D/layer/etc/machine-id
ssh-keygen -q -t ed25519 -N '' -f $D/layer/etc/ssh/ssh_host_ed25519_key
mount -t overlay gpuaas-slice-$N -o lowerdir=$D/layer:/slice-base,upperdir=$D/upper,workdir=$D/work $D/root
ip netns add $N
ip link add link eth0 name $N address $MAC netns $N type macvlan mode private
ip -n $N link set $N name eth0
ip -n $N link set lo up
ip -n $N addr add $IP/24 dev eth0
ip -n $N link set eth0 up
ip -n $N route add default via $GW
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  U=1 JOIN=: LIMITS="--property=MemoryMax=268435456 --property=TasksMax=512"
else
  U=0 LIMITS= MEMORY=/sys/fs/cgroup/memory/slice-$N PIDS=/sys/fs/cgroup/pids/slice-$N
  mkdir -p $MEMORY $PIDS
  echo 268435456 > $MEMORY/memory.limit_in_bytes
  echo 512 > $PIDS/pids.max
  JOIN="echo 0 > $MEMORY/cgroup.procs; echo 0 > $PIDS/cgroup.procs"
fi
systemd-run --quiet --collect --unit=gpuaas-slice-$N $LIMITS \
  --property=KillMode=mixed --property=Delegate=yes --property=TimeoutStopSec=3 \
  --setenv=SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=$U --setenv=SYSTEMD_NSPAWN_API_VFS_WRITABLE=network \
  /bin/sh -ec "$JOIN; \
    exec /usr/bin/nsenter --net=/run/netns/$N /usr/bin/systemd-nspawn --quiet --register=no --keep-unit \
    -D $D/root -M $N --boot --drop-capability=CAP_MKNOD --resolv-conf=off --timezone=off --console=pipe \
    --bind=/dev/nvidia0 --bind=/dev/nvidia1"
"""
_INSIDE = "P=$(systemctl show -P MainPID gpuaas-slice-$N); nsenter -t $(pgrep -P $P) -m -u -i -n -p -- "
_STOP = """
systemctl stop gpuaas-slice-$N
umount /var/lib/gpuaas/slices/$N/root
ip netns del $N
[ -e /sys/fs/cgroup/cgroup.controllers ] || rmdir /sys/fs/cgroup/memory/slice-$N /sys/fs/cgroup/pids/slice-$N
rm -rf /var/lib/gpuaas/slices/$N
"""


def _in_host(fleet: Fleet, host: Host, script: str) -> str:
    address = host.slice_addresses[0].split("/")[0]
    octets = [int(part) for part in address.split(".")]
    link_address = f"02:77:00:00:{octets[2]:02x}:{octets[3]:02x}"
    facts = [f"N=slice1 IP={address}", f"MAC={link_address} GW={fleet.gateway}"]
    return host.run(["sh", "-ec", "\n".join([*facts, script])]).stdout


def _greeting(address: str, seconds: float = BOOT_TIMEOUT) -> str:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, 22), timeout=1) as connection:
                return connection.recv(255).decode()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _check_limits(host: Host) -> None:
    offered = host.run(["cat", "/sys/fs/cgroup/cgroup.controllers"], check=False)
    if offered.returncode == 0:
        group = "/sys/fs/cgroup/system.slice/gpuaas-slice-slice1.service"
        limits = {"memory": f"{group}/memory.max", "pids": f"{group}/pids.current"}
        present = offered.stdout.split()
    else:
        limits = {
            "memory": "/sys/fs/cgroup/memory/slice-slice1/memory.limit_in_bytes",
            "pids": "/sys/fs/cgroup/pids/slice-slice1/pids.current",
        }
        present = ["memory", "pids"]
    if "memory" in present:
        assert host.read_file(limits["memory"]) == "268435456\n"
    if "pids" in present:
        assert int(host.read_file(limits["pids"])) > 3


def test_a_slice_boots_in_a_host_and_answers_on_port_22_until_it_is_stopped(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    _in_host(fleet, host, _START)
    assert _greeting(host.slice_addresses[0].split("/")[0]).startswith("SSH-")
    assert _in_host(fleet, host, _INSIDE + "hostname") == "slice1\n"
    nodes = _in_host(fleet, host, _INSIDE + "sh -c 'ls /dev/nvidia*'").split()
    assert nodes == ["/dev/nvidia0", "/dev/nvidia1"]
    _check_limits(host)
    _in_host(fleet, host, _STOP)
    assert list(host.slices_dir.iterdir()) == []


def test_a_slices_disk_survives_a_power_cut_of_its_host_and_nothing_else_does(fleet: Fleet) -> None:
    host = fleet.hosts[1]
    _in_host(fleet, host, _START)
    address = host.slice_addresses[0].split("/")[0]
    _greeting(address)
    _in_host(fleet, host, _INSIDE + "sh -c 'echo tenant > /root/work; sync'")
    host.power_cut()
    with pytest.raises(OSError, match=r"timed out|unreachable|No route"):
        socket.create_connection((address, 22), timeout=0.5)
    assert (host.slices_dir / "slice1/upper/root/work").read_text() == "tenant\n"
    host.power_on()
    host.wait_ssh()
    assert "slice1" not in host.run(["ip", "netns"]).stdout
    assert "slice1" not in host.read_file("/proc/self/mounts")
    assert host.run(["find", "/sys/fs/cgroup", "-name", "*slice-slice1*"]).stdout == ""
    host.run(["rm", "-rf", "/var/lib/gpuaas/slices/slice1"])
