"""How a manifest says that an image runs: what it can say, what it cannot, and that every fault is named at once."""

from typing import Any

import pytest

from gpuaas_server.catalog.manifest import digests_of, file_digests, parse
from gpuaas_server.kernel.errors import Problem
from tests_support.manifests import DIGEST, document, text_of

WEIGHTS = "sha256:" + "d" * 64
PROFILE: dict[str, Any] = {
    "image": DIGEST,
    "command": ["/bin/serve"],
    "args": ["--greeting", {"input": "/greeting"}, "--tries", {"input": "/tries"}],
    "env": {"MODE": "production", "GREETING": {"input": "/greeting"}, "TOKEN": {"secret": "token"}},
    "secrets": [{"secret": "token", "path": "/run/secrets/token"}, {"secret": "seed", "path": "/etc/seed"}],
    "ports": [{"container_port": 80, "host_port": 7007}, {"container_port": 7007, "protocol": "udp"}],
    "volumes": [{"name": "data", "path": "/data"}, {"name": "models", "path": "/srv/models", "read_only": True}],
    "artifacts": [
        {"digest": WEIGHTS, "path": "/srv/weights.bin"},
        {"digest": WEIGHTS, "path": "/srv/weights", "unpack": True},
    ],
    "gpus": 1,
    "resources": {"cpus": 0.5, "memory_mib": 512, "shared_memory_mib": 64, "processes": 100},
    "user": {"uid": 1000, "gid": 1000},
    "read_only_root": True,
    "restart": "always",
    "start_timeout_seconds": 60,
    "stop_timeout_seconds": 5,
}


SECRETS = [{"key": "token", "source": "generated"}, {"key": "seed", "source": "generated", "kind": "bytes"}]


def _manifest(profile: object, kind: str = "launchable", **changes: object) -> dict[str, Any]:
    artifact = {"kind": kind, "digest": DIGEST}
    return {**document(), "artifact": artifact, "secrets": SECRETS, "runtime_profile": profile, **changes}


def _faults(manifest: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(Problem) as refused:
        parse(text_of(manifest))
    assert refused.value.code == "manifest_invalid"
    found = refused.value.details["faults"]
    assert isinstance(found, list)
    return {fault["path"]: fault["message"] for fault in found}


def _refused(**changes: object) -> dict[str, str]:
    return _faults(_manifest({**PROFILE, **changes}))


@pytest.mark.parametrize("kind", ["oci", "launchable"])
def test_a_profile_with_all_its_fields_is_taken_and_kept_as_it_is(kind: str) -> None:
    manifest = parse(text_of(_manifest(PROFILE, kind)))
    assert manifest.runtime_profile == PROFILE == manifest.document["runtime_profile"]


def test_an_image_alone_is_enough() -> None:
    assert parse(text_of(_manifest({"image": DIGEST}))).runtime_profile == {"image": DIGEST}


def test_a_profile_belongs_to_the_kinds_that_run_an_image() -> None:
    launchable = {**document(), "artifact": {"kind": "launchable", "digest": DIGEST}}
    assert list(_faults(launchable)) == ["artifact.kind"]
    assert list(_faults(_manifest(PROFILE, "controller"))) == ["runtime_profile"]
    assert parse(text_of(document())).runtime_profile is None


def test_what_would_give_a_container_more_than_its_own_is_refused_all_at_once_with_reasons() -> None:
    asked = {
        "privileged": True,
        "network": "host",
        "pid": "host",
        "devices": ["/dev/sda"],
        "cap_add": ["SYS_ADMIN"],
        "security_opt": ["seccomp=unconfined"],
        "volumes": [{"name": "root", "path": "/data", "host_path": "/"}],
        "unheard_of": 1,
    }
    found = _refused(**asked)
    assert found.keys() == {
        *(f"runtime_profile.{name}" for name in asked if name != "volumes"),
        "runtime_profile.volumes[0].host_path",
    }
    assert found["runtime_profile.privileged"] == "There is no field privileged here. A container is never privileged."
    assert found["runtime_profile.unheard_of"] == "There is no field unheard_of here."


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("image", "registry/app:latest", "image"),
        ("image", "sha256:" + "b" * 64, "image"),  # not the version's artifact
        ("command", [], "command"),
        ("command", "/bin/serve", "command"),
        ("command", ["a\nExecStartPre=/bin/evil"], "command[0]"),
        ("args", ["x" * 5000], "args[0]"),
        ("args", ["x"] * 200, "args"),
        ("args", [1], "args[0]"),
        ("args", [{"input": "/nobody/asks"}], "args[0].input"),
        ("args", [{"input": "greeting"}], "args[0]"),
        ("env", {"A=B": "c"}, "env"),
        ("env", {"A B": "c"}, "env"),
        ("env", {"": "c"}, "env"),
        ("env", {"A": "b\nLD_PRELOAD=/x"}, "env.A"),
        ("env", {"A": 1}, "env.A"),
        ("env", {"GPUAAS_INSTANCE": "other"}, "env.GPUAAS_INSTANCE"),
        ("env", {"NVIDIA_VISIBLE_DEVICES": "all"}, "env.NVIDIA_VISIBLE_DEVICES"),
        ("env", {"CUDA_VISIBLE_DEVICES": "0,1"}, "env.CUDA_VISIBLE_DEVICES"),
        ("env", {f"V{number}": "" for number in range(65)}, "env"),
        ("env", ["A=B"], "env"),
        ("env", {"A": {"secret": "nobody_declares"}}, "env.A.secret"),
        ("env", {"A": {"secret": "seed"}}, "env.A.secret"),  # bytes
        ("env", {"A": {"secret": "token", "input": "/greeting"}}, "env.A"),
        ("args", [{"secret": "token"}], "args[0]"),
        ("command", [{"secret": "token"}], "command[0]"),
        ("secrets", [{"secret": "nobody_declares", "path": "/run/secrets/a"}], "secrets[0].secret"),
        ("secrets", [{"secret": "token"}], "secrets[0]"),
        ("secrets", [{"secret": "token", "path": "/run/other"}], "secrets[0].path"),
        ("secrets", [{"secret": "token", "path": "/run/secrets/../x"}], "secrets[0].path"),
        ("secrets", [{"secret": "token", "path": "/data"}], "secrets[0].path"),  # a volume's
        ("secrets", [{"secret": "token", "path": "/a,type=env"}], "secrets[0].path"),
        ("secrets", [{"secret": "token", "path": f"/s{n}"} for n in range(17)], "secrets"),
        ("secrets", ["token"], "secrets[0]"),
        ("ports", [{"container_port": 0}], "ports[0].container_port"),
        ("ports", [{"container_port": 22}], "ports[0]"),
        ("ports", [{"container_port": 22, "host_port": 22}], "ports[0].host_port"),
        ("ports", [{"container_port": 9999}], "ports[0]"),  # not in the footprint
        ("ports", ["8080:80"], "ports[0]"),
        ("volumes", [{"name": "data", "path": "/"}], "volumes[0].path"),
        ("volumes", [{"name": "data", "path": "data"}], "volumes[0].path"),
        ("volumes", [{"name": "data", "path": "/data/../etc"}], "volumes[0].path"),
        ("volumes", [{"name": "data", "path": "/proc/sys"}], "volumes[0].path"),
        ("volumes", [{"name": "data", "path": "/dev/shm"}], "volumes[0].path"),
        ("volumes", [{"name": "data", "path": "/data:rw,exec"}], "volumes[0].path"),
        ("volumes", [{"name": "../data", "path": "/data"}], "volumes[0].name"),
        ("volumes", ["/:/host"], "volumes[0]"),
        ("artifacts", [{"digest": "sha256:abc", "path": "/w"}], "artifacts[0].digest"),
        ("artifacts", [{"digest": DIGEST, "path": "/w"}], "artifacts[0].digest"),  # the image itself
        ("artifacts", [{"digest": WEIGHTS}], "artifacts[0]"),
        ("artifacts", [{"digest": WEIGHTS, "path": "/w", "read_only": False}], "artifacts[0].read_only"),
        ("artifacts", [{"digest": WEIGHTS, "path": "/sys/w"}], "artifacts[0].path"),
        ("artifacts", [{"digest": WEIGHTS, "path": "/w/../../etc/shadow"}], "artifacts[0].path"),
        ("artifacts", [{"digest": WEIGHTS, "path": "/w:/etc"}], "artifacts[0].path"),
        ("artifacts", [{"digest": WEIGHTS, "path": "/data"}], "artifacts[0].path"),  # a volume's
        ("artifacts", [{"digest": WEIGHTS, "path": f"/w{n}"} for n in range(17)], "artifacts"),
        ("artifacts", [WEIGHTS], "artifacts[0]"),
        ("gpus", 2, "gpus"),  # an allocation of the example may have one
        ("gpus", -1, "gpus"),
        ("gpus", "0,1", "gpus"),
        ("resources", {"memory_mib": 1}, "resources.memory_mib"),
        ("resources", {"memory_mib": "1g"}, "resources.memory_mib"),
        ("resources", {"cpus": 0}, "resources.cpus"),
        ("resources", {"processes": -1}, "resources.processes"),
        ("user", "root", "user"),
        ("user", {"uid": -1}, "user.uid"),
        ("user", {"gid": 5}, "user"),
        ("read_only_root", "yes", "read_only_root"),
        ("restart", "unless-stopped", "restart"),
        ("start_timeout_seconds", 0, "start_timeout_seconds"),
        ("stop_timeout_seconds", 86400, "stop_timeout_seconds"),
    ],
)
def test_a_wrong_value_is_refused_at_its_place(field: str, value: object, place: str) -> None:
    assert list(_refused(**{field: value})) == [f"runtime_profile.{place}"]


def test_a_launchable_version_that_takes_slices_only_is_refused() -> None:
    slices = {"requires_capacity_shape": ["gpu_slice"], "min_gpu_count": 1}
    found = _faults(_manifest(PROFILE, compatibility=slices))
    assert found == {"compatibility.requires_capacity_shape": "Containers run on whole hosts only; add baremetal."}
    assert parse(text_of(_manifest(PROFILE, "oci", compatibility=slices))).runtime_profile
    components = [{"key": "head", "min": 1, "max": 1, "compatibility": slices}]
    assert "components[0].compatibility.requires_capacity_shape" in _faults(_manifest(PROFILE, components=components))


def test_names_paths_and_ports_are_used_once() -> None:
    found = _refused(
        ports=[{"container_port": 7007}, {"container_port": 7007}],
        volumes=[{"name": "data", "path": "/data"}, {"name": "data", "path": "/data"}],
    )
    assert found == {
        "runtime_profile.ports[1]": "The host's port 7007/tcp is used twice.",
        "runtime_profile.ports[1].container_port": "The port 7007/tcp is listed twice.",
        "runtime_profile.volumes[1].name": "The name data is used twice.",
        "runtime_profile.volumes[1].path": "The path /data is used twice.",
    }


def test_all_gpus_fit_every_allocation_and_a_number_must_be_guaranteed() -> None:
    assert parse(text_of(_manifest({**PROFILE, "gpus": "all"}))).runtime_profile
    enough = {"requires_capacity_shape": ["baremetal"], "min_gpu_count": 8}
    assert parse(text_of(_manifest({**PROFILE, "gpus": 8}, compatibility=enough))).runtime_profile


@pytest.mark.parametrize("profile", [None, [], "image", 1, {}, {"image": None}, {"image": [DIGEST]}])
def test_a_profile_of_another_form_is_refused(profile: object) -> None:
    assert all(path.startswith("runtime_profile") for path in _faults(_manifest(profile)))


OTHER = "sha256:" + "b" * 64


def _components(head: dict[str, Any] | None, node: dict[str, Any] | None, **changes: object) -> dict[str, Any]:
    """A launchable version without a profile of its own, and with those of its components."""
    plain = {**document(), "artifact": {"kind": "launchable", "digest": DIGEST}, "secrets": SECRETS, **changes}
    components = [
        {"key": "head", "min": 1, "max": 1, "allocation_group": "one"},
        {"key": "node", "min": 1, "max": 1, "allocation_group": "one"},
    ]
    for component, profile in zip(components, (head, node), strict=True):
        if profile is not None:
            component["runtime_profile"] = profile
    return {**plain, "components": components}


def test_components_have_images_of_their_own_which_the_version_refers_to() -> None:
    manifest = parse(text_of(_components(PROFILE, {"image": OTHER})))
    assert digests_of(manifest.document) == (DIGEST, OTHER, *file_digests(manifest.document))
    assert len(file_digests(manifest.document)) == 1
    assert [component.allocation_group for component in manifest.components] == ["one", "one"]


def test_faults_of_a_components_profile_are_found_where_they_are() -> None:
    bad = {"image": OTHER, "env": {"GPUAAS_X": "1"}, "ports": [{"container_port": 7007}], "gpus": 2}
    found = _faults(_components({"image": OTHER, "ports": [{"container_port": 80, "host_port": 7007}]}, bad))
    assert found["artifact.digest"] == "No component runs this image."
    assert found["components[1].runtime_profile.env.GPUAAS_X"] == "The platform sets GPUAAS_X."
    assert "head is on the same allocation" in found["components[1].runtime_profile.ports[0]"]
    assert "min_gpu_count" in found["components[1].runtime_profile.gpus"]
    assert "node has none" in _faults(_components(PROFILE, None))["artifact.kind"]
    assert (
        "privileged"
        in _faults(_components(PROFILE, {"image": OTHER, "privileged": True}))[
            "components[1].runtime_profile.privileged"
        ]
    )


def test_a_group_has_one_allocation_so_its_components_have_one_member() -> None:
    manifest = _components(PROFILE, {"image": OTHER})
    manifest["components"][1]["max"] = 2
    assert list(_faults(manifest)) == ["components[1].max"]
