"""The process that provides the platform's apps is told where the API is, and nothing that the server keeps to itself."""

from pathlib import Path

import pytest

from gpuaas_server.kernel.settings import Settings
from gpuaas_server.processes import apps


def settings(tmp_path: Path, **named: object) -> Settings:
    return Settings.model_validate({"data_dir": tmp_path / "var", **named})


def test_settings_of_the_server_are_not_passed_on(tmp_path: Path) -> None:
    inherited = {
        "GPUAAS_DATABASE_URL": "postgresql://gpuaas:secret@db/gpuaas",
        "GPUAAS_S3_SECRET_KEY": "secret",
        "GPUAAS_ECHO_FILE": "/srv/file.tar",
        "PATH": "/usr/bin",
    }
    made = apps.environment(settings(tmp_path, platform_apps="echo"), inherited)
    assert not any("secret" in value for value in made.values())
    assert (made["GPUAAS_ECHO_FILE"], made["PATH"], made["GPUAAS_APPS"]) == ("/srv/file.tar", "/usr/bin", "echo")
    assert Path(made["GPUAAS_APPS_ACCOUNT_FILE"]).is_absolute()


@pytest.mark.parametrize(
    ("http", "https", "url", "with_ca"),
    [
        ("127.0.0.1:8080", "10.0.0.5:8443", "http://127.0.0.1:8080", False),
        ("", "0.0.0.0:8443", "https://127.0.0.1:8443", True),
        ("", "[::]:8443", "https://[::1]:8443", True),
    ],
)
def test_it_calls_the_api_on_this_machine(tmp_path: Path, http: str, https: str, url: str, with_ca: bool) -> None:
    made = apps.environment(settings(tmp_path, http_bind=http, https_bind=https), {})
    assert made["GPUAAS_URL"] == url
    assert ("GPUAAS_CA_FILE" in made) is with_ca


def test_it_knows_the_authority_of_the_registry_also_where_it_speaks_plain_http(tmp_path: Path) -> None:
    wanted = settings(tmp_path, http_bind="127.0.0.1:8080")
    authority = wanted.data_dir / "tls" / "ca.crt"
    authority.parent.mkdir(parents=True)
    authority.touch()
    assert apps.environment(wanted, {})["GPUAAS_CA_FILE"] == str(authority.resolve())


def test_nothing_is_started_where_nothing_is_wanted(tmp_path: Path) -> None:
    assert apps.are_wanted(settings(tmp_path))
    assert not apps.are_wanted(settings(tmp_path, platform_apps="none"))
    assert not apps.api_answers(settings(tmp_path, http_bind="127.0.0.1:1"))
