"""The layer of lab hosts that run containers: podman with runc, and its settings for a host that is a container itself."""

from gpuaas_lab.package_layer import PackageLayer

# A lab host may not raise limits, and its systemd does not manage the controllers of version 1.
_ENGINE_SETTINGS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]

[network]
network_backend = "netavark"

[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""

CONTAINER_ENGINE = PackageLayer(
    "container-engine",
    ("podman", "runc", "netavark", "aardvark-dns", "iptables", "busybox-static", "cloud-init"),
    files=(("/etc/containers/containers.conf", _ENGINE_SETTINGS),),
    plain_folders=("/var/lib/containers",),
)

# What images need of Debian beside the packages that lab hosts have.
IMAGE_BASE = PackageLayer("image-base", ("libgomp1", "libnuma1"))
