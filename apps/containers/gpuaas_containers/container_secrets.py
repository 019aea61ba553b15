"""The secrets of a container: which values it reads, as variables or as files, and their names on the host. Pure.

A variable's value is a secret of the engine, and a file's value is in a folder of root's that is mounted read-only. A unit,
a process list and an inspection of the container show names. A name belongs to one value for ever, so that another value
is another unit.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile
from gpuaas_containers.unit_quoting import check_text
from gpuaas_sdk.controller import AppSecret, Failed


@dataclass(frozen=True, slots=True)
class ContainerSecret:
    name: str
    value: bytes = field(repr=False)


def choose_secrets(
    profile: RuntimeProfile, names: MemberNames, known: Mapping[str, AppSecret]
) -> dict[str, ContainerSecret]:
    """Return the secrets that the container reads, by key. One that has no value is left out."""
    for variable, key in profile.secret_variables:
        if key in known:
            _check_variable(variable, known[key].value)
    return {
        key: ContainerSecret(names.secret(key, known[key].version), known[key].value)
        for key in profile.secret_keys
        if key in known
    }


def _check_variable(variable: str, value: bytes) -> None:
    try:
        check_text(value.decode(), f"The secret of the variable {variable}")
    except UnicodeDecodeError:
        step = "Give the secret another value, or publish a version that reads it as a file."
        raise Failed("value_refused", f"The secret of the variable {variable} is not text.", next_step=step) from None


def secret_arguments(
    names: MemberNames, profile: RuntimeProfile, found: Mapping[str, ContainerSecret]
) -> Iterator[str]:
    """Yield the engine's arguments. Its own mounts of secrets fail below a read-only root and are writable above others."""
    for variable, key in profile.secret_variables:
        if key in found:
            yield f"--secret={found[key].name},type=env,target={variable}"
    for file in profile.secret_files:
        if file.key in found:
            yield f"--volume={names.secrets_folder}/{found[file.key].name}:{file.path}:ro,nodev,nosuid,noexec"


# The engine's secrets are variables in the container's configuration, which an inspection reads (podman before 4.5). The
# runtime has read it when the container runs. A container that has ended meanwhile has no configuration any more.
_HIDE_VARIABLES = """\
import json, os, subprocess, sys
command = ["/usr/bin/podman", "container", "inspect", "--format={{.OCIConfigPath}}", sys.argv[1]]
path = subprocess.run(command, capture_output=True, text=True).stdout.strip()
if os.path.isfile(path):
    with open(path) as file:
        document = json.load(file)
    env = document["process"]["env"]
    names = [one.partition("=")[0] for one in env]
    document["process"]["env"] = [f"{n}=[hidden]" if n in sys.argv[2:] else one for n, one in zip(names, env)]
    with os.fdopen(os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(document, file)
    os.replace(path + ".new", path)
"""


def hide_command(names: MemberNames, profile: RuntimeProfile, found: Mapping[str, ContainerSecret]) -> list[str] | None:
    """Return the command that takes the values of variables out of the running container's configuration."""
    variables = [variable for variable, key in profile.secret_variables if key in found]
    return ["/usr/bin/python3", "-I", "-c", _HIDE_VARIABLES, names.name, *variables] if variables else None


def of_variables(profile: RuntimeProfile, found: Mapping[str, ContainerSecret]) -> list[ContainerSecret]:
    keys = {key for _, key in profile.secret_variables}
    return [secret for key, secret in found.items() if key in keys]


def of_files(profile: RuntimeProfile, found: Mapping[str, ContainerSecret]) -> list[ContainerSecret]:
    keys = {file.key for file in profile.secret_files}
    return [secret for key, secret in found.items() if key in keys]


def file_owner(profile: RuntimeProfile) -> tuple[int, int, int]:
    """Return user, group and mode of the files: the user's alone; an image's own user is not known here."""
    if profile.user is None:
        return 0, 0, 0o444
    uid, gid = map(int, profile.user.split(":"))
    return uid, gid, 0o400
