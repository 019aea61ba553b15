"""A manifest's text as plain data, with the place of everything in it, and its faults. `yaml_reader` reads it."""

from dataclasses import dataclass, field

MOST_FAULTS = 50

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something wrong with the text, where a person finds it: line and column count from 1."""

    line: int
    column: int
    path: str
    message: str


class Unreadable(Exception):
    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(faults)[:MOST_FAULTS]
        super().__init__(f"{len(faults)} faults")


@dataclass(slots=True)
class Document:
    value: object = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def fault(self, path: Path, message: str) -> Fault:
        """Return a fault at the value of the path, or at the nearest thing around it that the text has."""
        around = path
        while around and around not in self.places:
            around = around[:-1]
        return Fault(*self.places.get(around, (1, 1)), spell(path), message)

    def fault_at_key(self, path: Path, message: str) -> Fault:
        return Fault(*self.keys.get(path, self.places.get(path, (1, 1))), spell(path), message)


def spell(path: Path) -> str:
    """Write a path as people read it: components[0].min"""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
