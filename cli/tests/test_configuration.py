"""What the command remembers, and how it keeps it to its owner."""

import json
import stat
from pathlib import Path
from typing import Any

from gpuaas_cli.configuration import CredentialStore, StoredSignIn

ADA = StoredSignIn("user", "ada@example.com", "token-of-ada", 1_900_000_000.0)


def test_credentials_are_readable_by_their_owner_only(configuration_home: Path) -> None:
    CredentialStore().save("https://one.example", ADA)
    file = configuration_home / "credentials.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(configuration_home.stat().st_mode) == 0o700


def test_a_file_that_others_can_read_is_closed_before_use(configuration_home: Path) -> None:
    store = CredentialStore()
    store.save("https://one.example", ADA)
    store.path.chmod(0o644)
    assert store.load("https://one.example") == ADA
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_a_token_is_offered_only_to_the_server_that_gave_it(configuration_home: Path) -> None:
    store = CredentialStore()
    store.save("https://one.example", ADA)
    assert store.load("https://two.example") is None


def test_logging_out_forgets_one_server(configuration_home: Path, gpuaas: Any) -> None:
    store = CredentialStore()
    store.save("http://127.0.0.1:8080", ADA)
    store.save("https://two.example", ADA)
    assert gpuaas("logout").code == 0
    assert store.load("http://127.0.0.1:8080") is None
    assert store.load("https://two.example") == ADA


def test_settings_are_kept_and_the_environment_wins(configuration_home: Path, gpuaas: Any, monkeypatch: Any) -> None:
    assert gpuaas("config", "set", "project", "research").code == 0
    assert gpuaas("config", "show", "-o", "json").json["project"] == "research"
    monkeypatch.setenv("GPUAAS_PROJECT", "other")
    assert gpuaas("config", "show", "-o", "json").json["project"] == "other"
    assert json.loads((configuration_home / "config.json").read_text())["project"] == "research"


def test_without_a_sign_in_the_next_step_is_named(gpuaas: Any) -> None:
    outcome = gpuaas("allocations", "list")
    assert outcome.code == 4
    assert outcome.out == ""
    assert "gpuaas login" in outcome.err


def test_errors_are_json_when_output_is(gpuaas: Any) -> None:
    outcome = gpuaas("-o", "json", "whoami")
    assert outcome.code == 4
    assert json.loads(outcome.err)["code"] == "unauthenticated"


def test_a_password_cannot_be_an_argument(gpuaas: Any) -> None:
    assert gpuaas("login", "ada@example.com", "--password", "secret").code == 2


def test_login_without_a_terminal_asks_for_stdin(gpuaas: Any) -> None:
    outcome = gpuaas("login", "ada@example.com")
    assert outcome.code == 2
    assert "--password-stdin" in outcome.err


def test_an_unreachable_server_is_said_so(gpuaas: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("GPUAAS_TOKEN", "t")
    outcome = gpuaas("--server", "http://127.0.0.1:9", "whoami")
    assert outcome.code == 1
    assert "cannot be reached" in outcome.err


def test_a_destructive_verb_without_a_terminal_needs_yes(gpuaas: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("GPUAAS_TOKEN", "t")
    outcome = gpuaas("allocations", "release", "alc_00000000000000000000000000")
    assert outcome.code == 2
    assert "--yes" in outcome.err
