"""The command as a person uses it: its own configuration home, no variables from outside, real exit codes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpuaas_cli.main import app


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> "dict[str, object]":
        document = self._read()
        assert isinstance(document, dict)
        return document

    @property
    def items(self) -> "list[dict[str, object]]":
        items = self._read()
        assert isinstance(items, list)
        return items

    def _read(self) -> object:
        """What was printed; a command that printed nothing fails with what it said instead."""
        assert self.out, (self.code, self.err)
        return json.loads(self.out)


Gpuaas = Callable[..., Outcome]


@pytest.fixture
def configuration_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GPUAAS_URL", "GPUAAS_TOKEN", "GPUAAS_PROJECT", "GPUAAS_CA_FILE", "GPUAAS_CERTIFICATE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "gpuaas"


@pytest.fixture
def gpuaas(configuration_home: Path) -> Gpuaas:
    """`gpuaas("tenants", "list")` runs the command in this process and returns how it ended."""

    def run(*arguments: str, typed: str | None = None) -> Outcome:
        result = CliRunner().invoke(app, list(arguments), input=typed, prog_name="gpuaas")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run
