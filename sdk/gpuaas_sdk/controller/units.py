"""The text of a systemd unit. Every word of a command arrives as it is: quotes, `%` and `$` have no meaning in it."""

import re
from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9:_.@-]{0,200}\.service")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SETTING = re.compile(r"[A-Z][A-Za-z0-9]+")


def check_unit_name(name: str) -> str:
    """Raises ValueError for text that is not the name of a service."""
    return _checked(_NAME, name, "the name of a service")


def check_user_name(name: str) -> str:
    """Raises ValueError for text that is not the name of a user."""
    return _checked(_USER, name, "the name of a user")


def unit_text(
    command: Sequence[str],
    *,
    user: str,
    description: str,
    environment: Mapping[str, str],
    settings: Mapping[str, str],
) -> str:
    """Return the text of a service that runs this command and starts with the host."""
    if not command or not command[0].startswith("/"):
        raise ValueError("the command of a unit must begin with an absolute path")
    variables = [(_checked(_VARIABLE, name, "the name of a variable"), value) for name, value in environment.items()]
    lines = [
        "[Unit]",
        f"Description={_one_line(description).replace('%', '%%')}",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        f"ExecStart={' '.join(_word(one) for one in command)}",
        f"User={check_user_name(user)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in variables),
        "Restart=on-failure",
        *(f"{_checked(_SETTING, name, 'a setting')}={_one_line(value)}" for name, value in settings.items()),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def _word(text: str) -> str:
    """Quote a word of a command. `$` is doubled, because it would begin a variable."""
    return _quoted(text).replace("$", "$$")


def _quoted(text: str) -> str:
    escaped = _one_line(text).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _one_line(text: str) -> str:
    if any(ord(one) < 32 or ord(one) == 127 for one in text):
        raise ValueError("a unit cannot hold control characters or more than one line")
    return text


def _checked(pattern: re.Pattern[str], text: str, what: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is not {what}")
    return text
