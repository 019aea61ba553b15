"""One run of the command: its server, its identity, and its output."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gpuaas_cli import __version__
from gpuaas_cli.configuration import Configuration, CredentialStore, StoredSignIn, effective
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_sdk import (
    Client,
    ClientCertificate,
    Credentials,
    PasswordCredentials,
    ServiceAccountCredentials,
    Token,
)
from gpuaas_sdk.host_text import printable_text

PLAIN_WIDTH = 100


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


class SanitizingConsole(Console):
    """Replaces control characters in everything that is printed: names and messages may come from a hostile host."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable_text(segment.text), segment.style)


def console(stderr: bool = False) -> Console:
    """Return a console with colour on a terminal (unless NO_COLOR is set), and with a fixed width elsewhere."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return SanitizingConsole(stderr=stderr, highlight=False, width=None if terminal else PLAIN_WIDTH)


@dataclass(frozen=True)
class StoredTokens:
    """The stored sign-in of one server, which all runs of the command share."""

    store: CredentialStore
    server: str
    sign_in: StoredSignIn

    def lock(self) -> AbstractContextManager[None]:
        return self.store.lock()

    def load(self) -> Token | None:
        stored = self.store.load(self.server)
        return token_of(stored) if stored is not None and stored.name == self.sign_in.name else None

    def save(self, token: Token) -> None:
        self.store.save(self.server, with_token(self.sign_in, token))


def token_of(stored: StoredSignIn) -> Token:
    return Token(stored.access_token, stored.expires_at, stored.refresh_token, stored.session_expires_at)


def with_token(sign_in: StoredSignIn, token: Token) -> StoredSignIn:
    return replace(
        sign_in,
        access_token=token.access_token,
        expires_at=token.expires_at,
        refresh_token=token.refresh_token,
        session_expires_at=token.session_expires_at,
    )


@dataclass
class Session:
    output: Output = Output.TABLE
    server_given: str | None = None
    configuration: Configuration = field(default_factory=Configuration.load)
    store: CredentialStore = field(default_factory=CredentialStore)
    out: Console = field(default_factory=console)
    err: Console = field(default_factory=lambda: console(stderr=True))

    @property
    def as_json(self) -> bool:
        return self.output is Output.JSON

    @cached_property
    def server(self) -> str:
        value = self.server_given or effective("server", self.configuration.server)[0]
        return (value or "").rstrip("/")

    @property
    def ca_file(self) -> str | None:
        return effective("ca_file", self.configuration.ca_file)[0]

    @property
    def certificate(self) -> ClientCertificate | None:
        path = effective("certificate_file", self.configuration.certificate_file)[0]
        key = effective("certificate_key_file", self.configuration.certificate_key_file)[0]
        return None if path is None else ClientCertificate(path, key)

    @property
    def project_wanted(self) -> str | None:
        return effective("project", self.configuration.project)[0]

    @cached_property
    def client(self) -> Client:
        """Return a client that uses GPUAAS_TOKEN, or the sign-in that `gpuaas login` stored."""
        if os.environ.get("GPUAAS_TOKEN"):
            return self.connect(token=Token(os.environ["GPUAAS_TOKEN"]))
        stored = self.store.load(self.server)
        if stored is None:
            raise CommandFailed(
                "unauthenticated",
                f"You are not signed in to {self.server}.",
                "Sign in with `gpuaas login`.",
                ExitCode.DENIED,
            )
        return self.connect(token=token_of(stored), stored=stored)

    def connect(
        self,
        token: Token | None = None,
        stored: StoredSignIn | None = None,
    ) -> Client:
        try:
            return Client(
                self.server,
                token=token,
                credentials=None if stored is None else self._renewal(stored),
                ca_file=self.ca_file,
                certificate=self.certificate,
                user_agent=f"gpuaas-cli/{__version__}",
                store=None if stored is None else StoredTokens(self.store, self.server, stored),
            )
        except (ValueError, OSError) as error:
            raise CommandFailed("bad_server", f"{error}.", "Correct it: gpuaas config set server URL.") from error

    def _renewal(self, stored: StoredSignIn) -> Credentials | None:
        if stored.client_secret is not None:
            return ServiceAccountCredentials(stored.name, stored.client_secret)
        if stored.kind == "user" and sys.stdin.isatty():
            return PasswordCredentials(stored.name, lambda: self._ask_again(stored.name))
        return None

    def _ask_again(self, name: str) -> str:
        self.err.print("Your session has ended.", style="yellow")
        return ask_secret(f"Password of {name}")

    def say(self, sentence: str) -> None:
        """Print a remark for people; nothing is printed with JSON output."""
        (self.err if self.as_json else self.out).print(sentence, markup=False, soft_wrap=True)

    def confirm(self, question: str, yes: bool) -> None:
        """Ask before an action that cannot be undone; without a terminal, --yes is required."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise CommandFailed("confirmation_required", question, "Repeat it with --yes.", ExitCode.USAGE)
        if not typer.confirm(question, err=True):
            raise CommandFailed("not_confirmed", "Nothing was changed.")

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()


def ask_secret(prompt: str) -> str:
    return str(typer.prompt(prompt, hide_input=True, err=True))
