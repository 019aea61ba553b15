"""The document of a container: every text of a manifest or of a user arrives as it is, and none becomes a setting."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_containers.container_secrets import choose_secrets, file_owner
from gpuaas_containers.gpu_devices import GpuDevices
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile, read_profile
from gpuaas_containers.unit_quoting import MAX_WORD
from gpuaas_containers.user_data import HEADER, render_user_data
from gpuaas_sdk.controller import AppSecret, Failed

DIGEST = f"sha256:{'5f' * 32}"
REFERENCE = f"registry.example.test:5000/prj_1/web@{DIGEST}"
NAMES = MemberNames.of("ins_01m7f81xage15rhw01dexynkp5", "web", "mem_01m7f81xage15rhw01dexyabcd")
NO_GPUS = GpuDevices()
# What a program can be given: no NUL and no other control character than tab and line end.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=60).filter(
    lambda text: not re.search(r"[\x00-\x08\x0b-\x1f]", text)
)


def profile_of(inputs: dict[str, object] | None = None, **fields: object) -> RuntimeProfile:
    names = {f"v{number}": {"type": "string"} for number in range(8)}
    schema = {"type": "object", "properties": {"greeting": {"type": "string", "default": "hi"}, **names}}
    return read_profile({"runtime_profile": {"image": DIGEST, **fields}, "inputs": schema}, inputs or {})


def document_of(profile: RuntimeProfile, gpus: GpuDevices = NO_GPUS) -> dict[str, Any]:
    text = render_user_data(MemberContainer(NAMES, profile, REFERENCE, gpus, "ins_1", "mem_1", "talk web 1.0.0")).text
    assert text.startswith(HEADER)
    document: dict[str, Any] = json.loads(text.removeprefix(HEADER))
    return document


def files_of(document: dict[str, Any]) -> dict[str, str]:
    return {one["path"]: one["content"] for one in document["write_files"]}


def command_of(document: dict[str, Any]) -> list[str]:
    [line] = [one for one in files_of(document)[NAMES.unit_path].split("\n") if one.startswith("ExecStart=")]
    return split_words(line.removeprefix("ExecStart="))


def split_words(line: str) -> list[str]:
    """Read a command as systemd does (systemd.syntax, systemd.service): quotes, C escapes, specifiers, variables."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)
    escapes = {"\\\\": "\\", '\\"': '"', "\\n": "\n", "\\t": "\t"}
    plain = [re.sub(r"\\.", lambda found: escapes[found.group()], quoted or bare) for quoted, bare in words]
    for word in plain:
        assert not re.search(r"(?<!%)(%%)*%(?!%)", word), "a specifier"
        assert not re.search(r"(?<!\$)(\$\$)*\$(?!\$)", word), "a variable"
    return [word.replace("%%", "%").replace("$$", "$") for word in plain]


@given(args=st.lists(TEXTS, max_size=8))
def test_arguments_arrive_as_they_are(args: list[str]) -> None:
    inputs: dict[str, object] = {f"v{number}": text for number, text in enumerate(args)}
    command = command_of(document_of(profile_of(inputs, args=[{"input": f"/v{n}"} for n in range(len(args))])))
    assert command[command.index(REFERENCE) + 1 :] == args


@given(value=TEXTS)
def test_variables_arrive_as_they_are_and_the_unit_has_none_that_fits_a_line(value: str) -> None:
    document = document_of(profile_of({"v1": value}, env={"SECRET": {"input": "/v1"}}))
    given_in_file = f"SECRET={value}" in files_of(document)[NAMES.environment_path].split("\n")
    assert given_in_file is ("\n" not in value)
    assert (f"--env=SECRET={value}" in command_of(document)) is ("\n" in value)


@given(value=TEXTS)
def test_no_text_adds_a_line_to_the_unit(value: str) -> None:
    quiet, given_text = (
        files_of(document_of(profile_of({"v1": text}, args=[{"input": "/v1"}], command=["/bin/sh", "-c"])))
        for text in ("x", value)
    )
    assert len(given_text[NAMES.unit_path].split("\n")) == len(quiet[NAMES.unit_path].split("\n"))


@pytest.mark.parametrize("value", ["a\0b", "\x1b[31m", "\x7f", "\ud800", "x" * (MAX_WORD + 1)])
def test_what_no_program_can_be_given_is_refused_without_being_repeated(value: str) -> None:
    for fields in ({"args": [{"input": "/v1"}]}, {"env": {"NAME": {"input": "/v1"}}}):
        with pytest.raises(Failed) as refused:
            document_of(profile_of({"v1": value}, **fields))
        assert refused.value.failure.code == "value_refused"
        assert value not in refused.value.failure.message


def test_a_command_that_is_too_long_as_a_whole_is_refused() -> None:
    inputs: dict[str, object] = {f"v{number}": "%" * 100_000 for number in range(6)}
    with pytest.raises(Failed, match="longer than 512 KiB"):
        document_of(profile_of(inputs, args=[{"input": f"/v{number}"} for number in range(6)]))


def test_a_long_variable_is_given_as_an_argument() -> None:
    """The engine reads lines of 64 KiB."""
    command = command_of(document_of(profile_of({"v1": "x" * 70_000}, env={"LONG": {"input": "/v1"}})))
    assert f"--env=LONG={'x' * 70_000}" in command


def test_an_absent_answer_is_left_out_and_a_default_counts() -> None:
    profile = profile_of(args=["--greeting", {"input": "/greeting"}, {"input": "/v1"}], env={"A": {"input": "/v1"}})
    assert (profile.args, profile.env) == (("--greeting", "hi"), ())
    assert profile_of({"greeting": False}, args=[{"input": "/greeting"}]).args == ("false",)


def test_a_container_has_no_privileges_and_only_what_its_profile_names() -> None:
    command = command_of(document_of(profile_of()))
    assert {"--cap-drop=all", "--security-opt=no-new-privileges", f"--network={NAMES.name}"} <= set(command)
    assert not [one for one in command if one.startswith(("--privileged", "--volume", "--device", "--publish"))]
    assert {"--shm-size=64m", "--pids-limit=4096"} <= set(command)


def test_every_field_of_the_profile_is_kept() -> None:
    document = document_of(
        profile_of(
            command=["/bin/sh", "-c"],
            args=["true"],
            ports=[{"container_port": 80, "host_port": 7007}, {"container_port": 53, "protocol": "udp"}],
            volumes=[{"name": "data", "path": "/data"}, {"name": "weights", "path": "/weights", "read_only": True}],
            gpus=2,
            resources={"cpus": 0.5, "memory_mib": 64, "shared_memory_mib": 128, "processes": 10},
            user={"uid": 1000, "gid": 7},
            read_only_root=True,
            restart="always",
            start_timeout_seconds=77,
            stop_timeout_seconds=5,
        ),
        GpuDevices((2, 5), ("/dev/nvidiactl",)),
    )
    command, files = command_of(document), files_of(document)
    assert {
        "--publish=7007:80/tcp",
        "--publish=53:53/udp",
        f"--volume={NAMES.name}.data:/data:rw,nodev,nosuid",
        f"--volume={NAMES.name}.weights:/weights:ro,nodev,nosuid",
        "--device=/dev/nvidia2",
        "--device=/dev/nvidia5",
        "--device=/dev/nvidiactl",
        "--cpus=0.5",
        "--memory=64m",
        "--memory-swap=64m",
        "--shm-size=128m",
        "--pids-limit=10",
        "--user=1000:7",
        "--read-only",
        '--entrypoint=["/bin/sh", "-c"]',
    } <= set(command)
    assert command[-2:] == [REFERENCE, "true"]
    assert "NVIDIA_VISIBLE_DEVICES=2,5\nCUDA_VISIBLE_DEVICES=0,1\n" in files[NAMES.environment_path]
    assert {"Restart=always", "TimeoutStartSec=77", "TimeoutStopSec=45"} <= set(files[NAMES.unit_path].splitlines())


def test_only_root_can_read_the_variables() -> None:
    modes = {one["path"]: one["permissions"] for one in document_of(profile_of())["write_files"]}
    assert modes.pop(NAMES.environment_path) == "0600"
    assert (set(modes.values()), NAMES.unit_path in modes) == ({"0644"}, True)


def test_another_version_of_the_same_container_leaves_it_running() -> None:
    made = [
        MemberContainer(NAMES, profile_of(), REFERENCE, NO_GPUS, "ins_1", "mem_1", title)
        for title in ("1.0.0", "1.1.0")
    ]
    first, second = (render_user_data(one) for one in made)
    assert first.fingerprint == second.fingerprint
    assert first.text != second.text, "people see the version"


def test_another_variable_is_another_fingerprint_and_the_same_container_the_same_text() -> None:
    first, again, other = (
        render_user_data(
            MemberContainer(NAMES, profile_of(env={"A": text}), REFERENCE, GpuDevices(), "ins_1", "mem_1", "t")
        )
        for text in ("1", "1", "2")
    )
    assert first == again
    assert first.fingerprint != other.fingerprint


def container_with(*known: AppSecret, user: bool = True) -> MemberContainer:
    fields: dict[str, object] = {
        "env": {"TOKEN": {"secret": "token"}, "ABSENT": {"secret": "nobody_gave"}},
        "secrets": [{"secret": "token", "path": "/run/secrets/token"}, {"secret": "seed", "path": "/etc/seed"}],
    }
    profile = profile_of(**fields, **({"user": {"uid": 1000, "gid": 7}} if user else {}))
    secrets = choose_secrets(profile, NAMES, {one.name: one for one in known})
    return MemberContainer(NAMES, profile, REFERENCE, NO_GPUS, "ins_1", "mem_1", "talk", secrets=secrets)


def secret(name: str, value: bytes, version: int = 1) -> AppSecret:
    return AppSecret(name, version, value, None, rotated=False)


def test_a_document_has_the_names_of_secrets_and_not_their_values() -> None:
    container = container_with(secret("token", b"open-sesame"), secret("seed", b"\xff\0"))
    text = render_user_data(container).text
    assert "open-sesame" not in text + repr(container)
    token, seed = (container.secrets[key].name for key in ("token", "seed"))
    command = command_of(json.loads(text.removeprefix(HEADER)))
    assert [one for one in command if one.startswith("--secret")] == [
        f"--secret={token},type=env,target=TOKEN",
    ]
    assert [one for one in command if one.startswith("--volume")] == [
        f"--volume={NAMES.secrets_folder}/{token}:/run/secrets/token:ro,nodev,nosuid,noexec",
        f"--volume={NAMES.secrets_folder}/{seed}:/etc/seed:ro,nodev,nosuid,noexec",
    ]
    assert max(map(len, (token, seed))) < 64
    assert file_owner(container.profile) == (1000, 7, 0o400)
    assert file_owner(container_with(user=False).profile) == (0, 0, 0o444)


def test_another_value_of_a_secret_is_another_document() -> None:
    first, again, other = (
        render_user_data(container_with(secret("token", value, version)))
        for value, version in ((b"one", 1), (b"one", 1), (b"two", 2))
    )
    assert first == again
    assert first.fingerprint != other.fingerprint


@pytest.mark.parametrize("value", [b"\xff\xfe", b"a\0b", b"\x1b[31m"])
def test_a_variable_takes_no_secret_that_is_not_text_and_does_not_repeat_it(value: bytes) -> None:
    with pytest.raises(Failed) as refused:
        container_with(secret("token", value))
    assert refused.value.failure.code == "value_refused"
    assert repr(value)[2:-1] not in refused.value.failure.message


def test_a_version_without_a_profile_is_refused() -> None:
    with pytest.raises(Failed) as refused:
        read_profile({"artifact": {"kind": "controller"}}, {})
    assert refused.value.failure.code == "not_launchable"
