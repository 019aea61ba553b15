"""Takes values out of a document with their types checked. Whatever is wrong becomes a fault; nothing ends the reading."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpuaas_compose.compose_keys import KeyTable, Support
from gpuaas_compose.services import InputReference, Value
from gpuaas_compose.yaml_text import Document, Fault, Path, printable

_WHOLE_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,63})\}|([A-Za-z_][A-Za-z0-9_]{0,63}))")
_DURATION = re.compile(r"(?:([0-9]{1,4})h)?(?:([0-9]{1,5})m)?(?:([0-9]{1,6})s)?(?:([0-9]{1,7})ms)?")
_SIZE = re.compile(r"([0-9]{1,15})(?:\.[0-9]{1,15})? ?(b|k|kb|kib|m|mb|mib|g|gb|gib)?", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LONGEST_LINE = 4096


@dataclass(slots=True)
class TypedReader:
    """Reads one document. `inputs` are the names that ${name} may have; None: app.yaml could not be read."""

    document: Document
    inputs: frozenset[str] | None = None
    faults: list[Fault] = field(default_factory=list)

    def refuse(self, path: Path, message: str) -> None:
        self.faults.append(self.document.fault(path, message))

    def refuse_key(self, path: Path, message: str) -> None:
        self.faults.append(self.document.fault_at_key(path, message))

    def mapping(self, path: Path, value: object) -> dict[str, object]:
        if isinstance(value, dict):
            return value
        self.refuse(path, "This must be a mapping.")
        return {}

    def known(self, path: Path, value: object, table: KeyTable) -> dict[str, object]:
        """Return the supported keys of a mapping. All others are refused with the table's reason, or ignored."""
        supported: dict[str, object] = {}
        for name, inner in self.mapping(path, value).items():
            key = table.find(name)
            if key is None:
                self.refuse_key((*path, name), f"The compose specification has no {printable(name)} here.")
            elif key.support is Support.REFUSED:
                self.refuse_key((*path, name), f"{name} is refused. {key.note}")
            elif key.support is Support.SUPPORTED:
                supported[name] = inner
        return supported

    def fields(
        self, path: Path, value: object, names: Iterable[str], reasons: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        """Return the fields of a mapping of app.yaml; others are refused, with the reason if there is one."""
        allowed = set(names)
        found = self.mapping(path, value)
        for name in found:
            if name not in allowed:
                reason = (reasons or {}).get(name)
                message = f"There is no field {printable(name)} here.{f' {reason}' if reason else ''}"
                self.refuse_key((*path, name), message)
        return {name: inner for name, inner in found.items() if name in allowed}

    def sequence(self, path: Path, value: object) -> list[object]:
        if isinstance(value, list):
            return value
        self.refuse(path, "This must be a list.")
        return []

    def text(self, path: Path, value: object) -> str | None:
        """Return a line of text without variables."""
        line = self.line(path, value)
        plain = None if line is None else self._interpolated(path, line)
        if isinstance(plain, InputReference):
            self.refuse(path, "A variable is allowed only in environment, command and entrypoint.")
            return None
        return plain

    def line(self, path: Path, value: object) -> str | None:
        """Return one line of text as it is written, variables and all."""
        if isinstance(value, float | bool):
            self.refuse(path, "Quote it: without quotes this is not a text.")
            return None
        if not isinstance(value, str | int):
            self.refuse(path, "This must be a text.")
            return None
        line = str(value)
        if "\n" in line or "\r" in line or len(line) > _LONGEST_LINE:
            self.refuse(path, f"This must be one line of at most {_LONGEST_LINE} characters.")
            return None
        return line

    def value(self, path: Path, value: object) -> Value | None:
        """Return a text, or the input that it refers to."""
        line = self.line(path, value)
        return None if line is None else self._interpolated(path, line)

    def _interpolated(self, path: Path, text: str) -> Value | None:
        whole = _WHOLE_VARIABLE.fullmatch(text)
        if whole is not None:
            name = whole[1] or whole[2]
            if self.inputs is not None and name not in self.inputs:
                self.refuse(
                    path,
                    f"app.yaml has no input {name}. People give the values at launch; those of your shell are not used.",
                )
                return None
            return InputReference(name)
        if "$" in text.replace("$$", ""):
            message = "A variable must be the whole value, as ${name}; write $$ for a dollar sign."
            self.refuse(path, message)
            return None
        return text.replace("$$", "$")

    def integer(self, path: Path, value: object, low: int, high: int) -> int | None:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}", value) else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            self.refuse(path, f"This must be a number from {low} to {high}.")
            return None
        return number

    def boolean(self, path: Path, value: object) -> bool:
        if isinstance(value, bool):
            return value
        self.refuse(path, "This must be true or false.")
        return False

    def seconds(self, path: Path, value: object, low: int, high: int) -> int | None:
        """Return a duration as compose writes it (1m30s), in whole seconds, rounded up."""
        found = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
        if found is None:
            self.refuse(path, "This must be a duration, such as 90s or 1m30s.")
            return None
        hours, minutes, seconds, milliseconds = (int(part or 0) for part in found.groups())
        whole = hours * 3600 + minutes * 60 + seconds + -(-milliseconds // 1000)
        if not low <= whole <= high:
            self.refuse(path, f"This must be from {low} s to {high} s.")
            return None
        return whole

    def mebibytes(self, path: Path, value: object, low: int = 1) -> int | None:
        """Return a size as compose writes it (512m, 2gb, or bytes), in whole MiB, rounded up."""
        found = _SIZE.fullmatch(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
        if found is None or "." in found[0]:
            self.refuse(path, "This must be a size in whole numbers, such as 512m or 2g.")
            return None
        size = -(-int(found[1]) * _UNITS[(found[2] or "").lower()[:1]] // (1 << 20))
        if not low <= size <= 1 << 26:
            self.refuse(path, f"This must be at least {low} MiB and at most 64 TiB.")
            return None
        return size
