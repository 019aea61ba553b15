"""What `help()` and `repr()` show of the framework: the purpose of each thing, and nothing of this machine."""

import inspect
import os
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

from gpuaas_sdk import controller
from gpuaas_sdk.controller import Context, ControllerSettings
from gpuaas_sdk.credentials import ClientCertificate

OWN = [
    (name, getattr(controller, name))
    for name in controller.__all__
    if "generated" not in getattr(controller, name).__module__
]
RENDER = """
import pydoc
from gpuaas_sdk import controller, testing
for module in (controller, testing):
    for name in module.__all__:
        print(pydoc.plain(pydoc.render_doc(getattr(module, name))))
"""
CANARY = "canary-in-the-environment"


def own_members(public: object) -> list[tuple[str, object]]:
    """The functions and properties that a class defines itself and that its users call."""
    named = vars(public).items() if inspect.isclass(public) else ()
    return [(name, one) for name, one in named if not name.startswith("_") and _has_purpose(one)]


def _has_purpose(one: object) -> bool:
    return inspect.isfunction(one) or isinstance(one, property | classmethod)


@pytest.mark.parametrize(("name", "public"), OWN)
def test_everything_public_says_what_it_is_for(name: str, public: object) -> None:
    written = inspect.getdoc(public) or ""
    assert written
    assert not written.startswith(f"{name}("), "dataclasses wrote this, not a person"
    without = [member for member, one in own_members(public) if not inspect.getdoc(one)]
    assert without == []


def test_help_shows_nothing_of_the_environment() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", RENDER],
        env={**os.environ, "SOME_SECRET": CANARY},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "from_environment" in shown
    assert "class CatalogApp" in shown
    assert CANARY not in shown
    assert "environ(" not in shown


def test_help_on_the_context_of_a_handler_has_no_generated_methods() -> None:
    shown = pydoc.plain(pydoc.render_doc(Context))
    assert "One operation, as its handler sees it" in shown
    assert "__eq__" not in shown
    assert "__dataclass" not in shown


def test_settings_are_read_from_the_environment_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("hunter2\n")
    for name, value in (("URL", "https://gpuaas"), ("PROJECT", "prj_1"), ("CLIENT_ID", "sva_1")):
        monkeypatch.setenv(f"GPUAAS_{name}", value)
    monkeypatch.setenv("GPUAAS_CLIENT_SECRET_FILE", str(tmp_path / "secret"))
    settings = ControllerSettings.from_environment()
    assert (settings.url, settings.client_secret) == ("https://gpuaas", "hunter2")


def test_the_repr_of_settings_shows_no_secret() -> None:
    certificate = ClientCertificate("/etc/client.pem", "/etc/client.key")
    settings = ControllerSettings("https://gpuaas", "prj_1", "sva_1", "hunter2", certificate=certificate)
    assert "hunter2" not in repr(settings)
    assert "sva_1" in repr(settings)
