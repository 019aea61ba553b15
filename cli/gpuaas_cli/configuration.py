"""The command's stored settings: the server, the default project, and the sign-in."""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

DEFAULT_SERVER = "http://127.0.0.1:8080"


def home() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "gpuaas"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of config.json; an environment variable can override each value."""

    server: str = DEFAULT_SERVER
    project: str | None = None
    ca_file: str | None = None
    certificate_file: str | None = None
    certificate_key_file: str | None = None

    @classmethod
    def load(cls) -> "Configuration":
        stored = _read(home() / "config.json")
        known = {one.name: stored[one.name] for one in fields(cls) if stored.get(one.name)}
        return cls(**{name: str(value) for name, value in known.items()})

    def save(self) -> Path:
        return _write(home() / "config.json", {k: v for k, v in asdict(self).items() if v})


VARIABLES = {
    "server": "GPUAAS_URL",
    "project": "GPUAAS_PROJECT",
    "ca_file": "GPUAAS_CA_FILE",
    "certificate_file": "GPUAAS_CERTIFICATE_FILE",
    "certificate_key_file": "GPUAAS_CERTIFICATE_KEY_FILE",
}


def effective(name: str, stored: str | None) -> tuple[str | None, str]:
    """Return the effective value and its source."""
    variable = VARIABLES[name]
    if os.environ.get(variable):
        return os.environ[variable], variable
    return stored, "config"


@dataclass(frozen=True, slots=True)
class StoredSignIn:
    """Holds what renews the short-lived token: a person's session, which expires, or a service account's secret."""

    kind: str
    name: str
    access_token: str
    expires_at: float | None
    client_secret: str | None = None
    refresh_token: str | None = None
    session_expires_at: str | None = None


class CredentialStore:
    """The content of credentials.json, readable by its owner only. Each server has its own sign-in."""

    def __init__(self) -> None:
        self.path = home() / "credentials.json"

    def load(self, server: str) -> StoredSignIn | None:
        stored = self._servers().get(server)
        if not isinstance(stored, dict):
            return None
        expires_at = stored.get("expires_at")
        optional = ("client_secret", "refresh_token", "session_expires_at")
        return StoredSignIn(
            kind=str(stored.get("kind")),
            name=str(stored.get("name")),
            access_token=str(stored.get("access_token")),
            expires_at=float(expires_at) if expires_at else None,
            **{name: str(stored[name]) for name in optional if stored.get(name)},
        )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock under which a sign-in is renewed: a refresh token can be used only once."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path.with_name("credentials.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def save(self, server: str, sign_in: StoredSignIn) -> None:
        _write(self.path, {"servers": {**self._servers(), server: asdict(sign_in)}})

    def forget(self, server: str) -> bool:
        servers = self._servers()
        found = servers.pop(server, None) is not None
        if found:
            _write(self.path, {"servers": servers})
        return found

    def _servers(self) -> dict[str, object]:
        if self.path.exists() and self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        servers = _read(self.path).get("servers")
        return dict(servers) if isinstance(servers, dict) else {}


def _read(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(path: Path, content: dict[str, object]) -> Path:
    """Replace the file in one step; only its owner can read it, from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path
