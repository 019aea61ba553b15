"""Words of a systemd unit. Every word of a command arrives as it is: quotes, `%`, `$`, `\\` and line ends have no meaning."""

from gpuaas_sdk.controller import Failed

MAX_LINE = 512 << 10  # bytes; systemd ends a line at 1 MiB
MAX_WORD = 120 << 10  # bytes; the kernel takes a word of 128 KiB
_ESCAPES = {"\\": "\\\\", '"': '\\"', "%": "%%", "\n": "\\n", "\t": "\\t"}


def check_text(text: str, what: str) -> str:
    """Raises Failed for text that no program can be given: too long, no Unicode, or with control characters."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _refused(what, "is not valid Unicode") from None
    if size > MAX_WORD:
        raise _refused(what, f"is longer than {MAX_WORD >> 10} KiB")
    if any((ord(one) < 32 and one not in "\n\t") or ord(one) == 127 for one in text):
        raise _refused(what, "has control characters")
    return text


def quoted(text: str) -> str:
    """Return a word of a setting such as `Environment=`."""
    return '"' + "".join(_ESCAPES.get(one, one) for one in text) + '"'


def command_line(words: list[str]) -> str:
    """Return the value of `ExecStart=`; the first word is a plain path. In a command, `$` would begin a variable."""
    line = " ".join([words[0], *(quoted(one).replace("$", "$$") for one in words[1:])])
    if len(line.encode()) > MAX_LINE:
        raise _refused("The command with all its arguments", f"is longer than {MAX_LINE >> 10} KiB")
    return line


def one_line(text: str) -> str:
    """Return free text for a setting such as `Description=`."""
    return "".join(one if one.isprintable() else " " for one in text).replace("%", "%%").replace("\\", "/")


def _refused(what: str, why: str) -> Failed:
    return Failed("value_refused", f"{what} {why}.", next_step="Change the inputs of the instance, or the manifest.")
