"""The files of the repository as a new noun changes them: in memory first, so that a refusal leaves everything as it was."""

import re
from collections.abc import Iterator
from pathlib import Path

from noun_scaffold.names import Names, Refused

TEMPLATE = Path(__file__).parent / "template"
ONLY_WITH_STATES = ("machine.py", "reconciler.py", "test_machine.py")
LINE_WITH_STATES = re.compile(r"^(.*?) +(?:#|--) with states$")
BEGIN, END = "# begin: with states", "# end: with states"


class Tree:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._texts: dict[str, str] = {}
        self.added: set[str] = set()

    @property
    def changed(self) -> set[str]:
        """The paths of all files that are written, those that are added too."""
        return set(self._texts)

    def exists(self, path: str) -> bool:
        return (self._root / path).exists()

    def glob(self, pattern: str) -> list[str]:
        return sorted(str(path.relative_to(self._root)) for path in self._root.glob(pattern))

    def read(self, path: str) -> str:
        return self._texts.get(path) or (self._root / path).read_text()

    def copy_template(self, names: Names) -> None:
        for source in sorted(TEMPLATE.rglob("*.*")):
            if source.suffix not in (".py", ".sql") or (source.name in ONLY_WITH_STATES and not names.states):
                continue
            path = names.spell(str(source.relative_to(TEMPLATE)))
            if self.exists(path):
                raise Refused(f"{path} exists already.")
            self._texts[path] = names.spell("".join(_lines(source.read_text(), names)))
            self.added.add(path)

    def add_text(self, path: str, text: str) -> None:
        """Add to the end of a file."""
        self._texts[path] = self.read(path) + text

    def add_after(self, path: str, line: str, text: str) -> None:
        """Add after the only line that is this one."""
        before = self.read(path)
        if before.count(f"\n{line}\n") != 1:
            raise Refused(f"{path} has not exactly one line {line.strip()!r}, so that a place in it was not found.")
        self._texts[path] = before.replace(f"\n{line}\n", f"\n{line}\n{text}")

    def add_entry(self, path: str, opening: str, text: str) -> None:
        """Add a last entry to the list, tuple, dict or call whose first line (or its beginning) is `opening`."""
        lines = self.read(path).splitlines(keepends=True)
        starts = [number for number, line in enumerate(lines) if line.startswith(opening)]
        if len(starts) != 1:
            raise Refused(f"{path} has not exactly one line that begins with {opening.strip()!r}.")
        indent = opening[: len(opening) - len(opening.lstrip())]
        closing = re.compile(f"{indent}[])}}]")
        end = next(number for number in range(starts[0] + 1, len(lines)) if closing.match(lines[number]))
        self._texts[path] = "".join([*lines[:end], text, *lines[end:]])

    def replace(self, path: str, old: str, new: str) -> None:
        before = self.read(path)
        if before.count(old) != 1:
            raise Refused(f"{path} has not exactly one {old.strip()!r}.")
        self._texts[path] = before.replace(old, new)

    def write(self) -> None:
        for path, text in self._texts.items():
            target = self._root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def _lines(text: str, names: Names) -> Iterator[str]:
    """The template's lines, with or without those that only a noun with states has."""
    inside = False
    for line in text.splitlines():
        marked = LINE_WITH_STATES.match(line)
        if line in (BEGIN, END):
            inside = line == BEGIN
        elif names.states or not (inside or marked):
            yield f"{marked[1] if marked else line}\n"
