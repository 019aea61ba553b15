"""Turns the healthcheck of a service into a check that the member's host can run: a connection, or an HTTP request.

The platform runs probes from the host, not in the container, so a test is taken only if it does from inside what the host
can do from outside: `curl` or `wget` of a URL, or `nc -z`.
"""

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from gpuaas_compose.compose_keys import HEALTHCHECK
from gpuaas_compose.services import Check
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import Path

NOT_RUNNABLE = (
    "A host cannot run this test: use curl or wget of a URL without options that change the request, or nc -z HOST PORT; "
    "or name a probe of the service in app.yaml."
)
_URL = re.compile(r"http://([A-Za-z0-9_.-]+|\[::1\])(?::([0-9]{1,5}))?(/[A-Za-z0-9_.~/-]*)?")
_OWN = ("localhost", "127.0.0.1", "0.0.0.0", "[::1]")  # names of the container itself
_FALLBACK = re.compile(r"\s*\|\|\s*(?:exit 1|false)\s*$")
_SHELL = re.compile(r"[;&|<>`$(){}\n\\*?]")
# Options that change what is printed, not what is asked. Those with a value are named with it.
_QUIET = re.compile(
    r"-[fsSLkqv]+|--(?:fail|silent|show-error|quiet|no-verbose|spider|verbose)|-nv|-qO-|-O-|--tries=[0-9]+"
)
_WITH_VALUE = ("-o", "--output", "-O", "-m", "--max-time", "-T", "-t", "--connect-timeout", "--retry")


@dataclass(frozen=True, slots=True)
class Target:
    """Names what a test connects to."""

    port: int
    path: str | None


def read_check(reader: TypedReader, path: Path, value: object, service: str) -> tuple[Check | None, Path | None]:
    """Return the check, and the place of a test that no host can run."""
    given = reader.known(path, value, HEALTHCHECK)
    disabled = "disable" in given and reader.boolean((*path, "disable"), given["disable"])
    if disabled or _says_none(given.get("test")):
        return None, None
    if "test" not in given:
        reader.refuse(path, "A healthcheck must have a test: the image's own healthcheck is not read.")
        return None, None
    place = (*path, "test")
    words = _words(reader, place, given["test"])
    times = _times(reader, path, given)
    target = target_of(words, service)
    if target is None:
        return times, place
    return replace(times, container_port=target.port, path=target.path), None


def _times(reader: TypedReader, path: Path, given: dict[str, object]) -> Check:
    """Return a check of nothing yet, with the times that the file says."""
    check = Check(0)
    if "interval" in given:
        interval = reader.seconds((*path, "interval"), given["interval"], 1, 3600)
        check = replace(check, interval_seconds=interval or check.interval_seconds)
    if "timeout" in given:
        timeout = reader.seconds((*path, "timeout"), given["timeout"], 1, 10)
        check = replace(check, timeout_seconds=timeout or check.timeout_seconds)
    if "start_period" in given:
        period = reader.seconds((*path, "start_period"), given["start_period"], 0, 3600)
        check = replace(check, start_period_seconds=check.start_period_seconds if period is None else period)
    if "retries" in given:
        failures = reader.integer((*path, "retries"), given["retries"], 1, 100)
        check = replace(check, failures=failures or check.failures)
    return check


def _says_none(test: object) -> bool:
    return test in ("NONE", ["NONE"])


def _words(reader: TypedReader, path: Path, test: object) -> list[str]:
    """Return the words of the command that the test runs; empty if it needs a shell for more than its exit code."""
    if isinstance(test, str):
        line = reader.line(path, test)
        return [] if line is None else _shell_words(line)
    texts = [reader.text((*path, index), item) for index, item in enumerate(reader.sequence(path, test))]
    words = [text for text in texts if text is not None]
    if len(words) > 1 and words[0] == "CMD":
        return words[1:]
    if len(words) == 2 and words[0] == "CMD-SHELL":
        return _shell_words(words[1])
    reader.refuse(path, "A test begins with CMD, CMD-SHELL or NONE, or is a text.")
    return []


def _shell_words(text: str) -> list[str]:
    command = _FALLBACK.sub("", text)
    if _SHELL.search(command):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return []


def target_of(words: list[str], service: str) -> Target | None:
    """Return what the command connects to, or None if it does anything else. Pure."""
    program = PurePosixPath(words[0]).name if words else ""
    rest = _without_options(words[1:])
    if program in ("curl", "wget") and rest is not None and len(rest) == 1:
        return _url_target(rest[0], service)
    if program in ("nc", "ncat", "netcat") and "-z" in words[1:]:
        return _connection_target([word for word in words[1:] if word not in ("-z", "-v", "-w1")], service)
    return None


def _without_options(words: list[str]) -> list[str] | None:
    rest: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif word.startswith("-"):
            if _QUIET.fullmatch(word) is None:
                return None
        else:
            rest.append(word)
    return rest


def _url_target(url: str, service: str) -> Target | None:
    found = _URL.fullmatch(url if "://" in url else f"http://{url}")
    if found is None or found[1] not in (*_OWN, service):
        return None
    port = int(found[2] or 80)
    return Target(port, found[3] or "/") if 0 < port < 65536 else None


def _connection_target(words: list[str], service: str) -> Target | None:
    if len(words) != 2 or words[0] not in (*_OWN, service) or not re.fullmatch(r"[0-9]{1,5}", words[1]):
        return None
    return Target(int(words[1]), None) if 0 < int(words[1]) < 65536 else None
