"""A YAML text as plain data, with the place of everything in it.

The text is not trusted. PyYAML only splits it into events; what they mean is decided here: no tags (which make objects),
no key twice, and a plain word is a word, be it `yes`, `12:30` or a date. Compose files use anchors and merge keys; they
are taken, and what they repeat counts as if it were written out, so that a few lines cannot grow without bound.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

LARGEST_TEXT = 128 * 1024
DEEPEST = 24
MOST_NODES = 20_000
MOST_FAULTS = 200

Path = tuple[str | int, ...]
Place = tuple[int, int]

# Characters that change what a person sees (bidirectional overrides, invisible ones) or what a terminal does.
HOSTILE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")
_WORDS: dict[str, object] = {"": None, "null": None, "~": None, "true": True, "false": False}
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "<<"


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something wrong with a file, where a person finds it: line and column count from 1."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.file}:{self.line}:{self.column}: {where}{self.message}"


class Unreadable(Exception):
    """Raised when a text is no document; it has every reason."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(set(faults))[:MOST_FAULTS]
        super().__init__(f"{len(faults)} faults")


@dataclass(slots=True)
class Document:
    file: str
    value: object = None
    places: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)

    def fault(self, path: Path, message: str) -> Fault:
        """Return a fault at the value of the path, or at the nearest thing around it that the text has."""
        around = path
        while around and around not in self.places:
            around = around[:-1]
        return Fault(self.file, *self.places.get(around, (1, 1)), spell(path), message)

    def fault_at_key(self, path: Path, message: str) -> Fault:
        """Return a fault at the key that ends the path."""
        if path not in self.keys:
            return self.fault(path, message)
        return Fault(self.file, *self.keys[path], spell(path), message)


def spell(path: Path) -> str:
    """Write a path as people read it: services.web.ports[0]"""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part)}" for part in path).lstrip(".")


def printable(text: str, most: int = 60) -> str:
    """Return an untrusted text as it may be shown: one line, no control characters, bounded."""
    clean = HOSTILE.sub("?", text.replace("\n", " ").replace("\t", " "))
    return clean if len(clean) <= most else f"{clean[: most - 3]}..."


def read(text: str, file: str) -> Document:
    """Read the document, or raise `Unreadable` with every reason why it is none."""
    if len(text) > LARGEST_TEXT or len(text.encode("utf-8", "replace")) > LARGEST_TEXT:
        raise Unreadable([Fault(file, 1, 1, "", f"The file must have at most {LARGEST_TEXT} bytes.")])
    hostile = [
        _hostile_at(text, found.start(), file) for _, found in zip(range(20), HOSTILE.finditer(text), strict=False)
    ]
    if hostile:
        raise Unreadable(hostile)
    reader = _Reader(text, file)
    try:
        reader.run()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = error.problem or error.context or "this is not YAML"
        raise Unreadable([*reader.faults, Fault(file, *place, "", f"Not YAML: {problem}."[:300])]) from None
    except yaml.YAMLError:
        raise Unreadable([*reader.faults, Fault(file, 1, 1, "", "Not YAML.")]) from None
    if reader.faults:
        raise Unreadable(reader.faults)
    return reader.document


def _hostile_at(text: str, position: int, file: str) -> Fault:
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return Fault(file, line, column, "", f"The character U+{ord(text[position]):04X} is not allowed.")


@dataclass(frozen=True, slots=True)
class _Anchored:
    """Holds what an anchor names: its value, how many nodes it has, and how deep it is."""

    value: object
    nodes: int
    depth: int


class _Reader:
    """Reads the events in one pass. A fault does not end it, so that all are found; too much of anything does."""

    def __init__(self, text: str, file: str) -> None:
        self.document = Document(file)
        self.faults: list[Fault] = []
        self._events: Iterator[yaml.Event] = iter(yaml.parse(text, Loader=_LOADER))
        self._nodes = 0
        self._anchors: dict[str, _Anchored] = {}

    def run(self) -> None:
        self._next()  # the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            raise Unreadable([Fault(self.document.file, 1, 1, "", "The file is empty.")])
        self.document.value, _ = self._node(self._next(), ())
        self._next()  # the document's end
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            self._fault(after, (), "The file must have one document.")

    def _next(self) -> yaml.Event:
        return next(self._events)

    def _fault(self, event: yaml.Event, path: Path, message: str) -> None:
        self.faults.append(Fault(self.document.file, *_place(event), spell(path), message))
        if len(self.faults) >= MOST_FAULTS:
            raise Unreadable(self.faults)

    def _count(self, event: yaml.Event, path: Path, nodes: int, depth: int) -> None:
        self._nodes += nodes
        if depth > DEEPEST or self._nodes > MOST_NODES:
            too = "deep" if depth > DEEPEST else "large"
            fault = Fault(self.document.file, *_place(event), spell(path[:8]), f"The document is too {too}.")
            raise Unreadable([*self.faults, fault])

    def _node(self, event: yaml.Event, path: Path) -> tuple[object, int]:
        """Return the value and its depth."""
        self.document.places[path] = _place(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        self._count(event, path, 1, len(path))
        before = self._nodes
        if getattr(event, "tag", None) not in (None, "!"):
            self._fault(event, path, "YAML tags are not allowed.")
        value, depth = self._content(event, path)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:  # only now: what is inside cannot name it, so nothing contains itself
            self._anchors[anchor] = _Anchored(value, self._nodes - before + 1, depth)
        return value, depth

    def _content(self, event: yaml.Event, path: Path) -> tuple[object, int]:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return (self._scalar(event, path) if isinstance(event, yaml.ScalarEvent) else None), 0

    def _alias(self, event: yaml.AliasEvent, path: Path) -> tuple[object, int]:
        name = event.anchor or ""
        found = self._anchors.get(name)
        if found is None:
            self._fault(event, path, f"There is no anchor {printable(name)} before this line.")
            return None, 0
        self._count(event, path, found.nodes, len(path) + found.depth)
        return found.value, found.depth

    def _sequence(self, path: Path) -> tuple[list[object], int]:
        items: list[object] = []
        deepest = 0
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            item, depth = self._node(event, (*path, len(items)))
            items.append(item)
            deepest = max(deepest, depth + 1)
        return items, deepest

    def _mapping(self, path: Path) -> tuple[dict[str, object], int]:
        items: dict[str, object] = {}
        merged: dict[str, object] = {}
        deepest = 0
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, path)
            inside = (*path, key)
            if key in items or (key == _MERGE and merged):
                self._fault(event, inside, f"{printable(key)} appears twice here.")
            self.document.keys[inside] = _place(event)
            value, depth = self._node(after := self._next(), inside)
            deepest = max(deepest, depth + 1)
            if key == _MERGE:
                merged = self._merged(after, inside, value)
            else:
                items[key] = value
        return {**merged, **items}, deepest

    def _merged(self, event: yaml.Event, path: Path, value: object) -> dict[str, object]:
        """Return what a merge key brings in: of several mappings, the first that has a key gives its value."""
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in several):
            self._fault(event, path, "A merge key takes a mapping, or a list of mappings.")
            return {}
        found: dict[str, object] = {}
        for one in several:
            if isinstance(one, dict):
                found = {**one, **found}
        return found

    def _key(self, event: yaml.Event, path: Path) -> str:
        if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None:
            self._fault(event, path, "A key must be a word.")
            self._node(event, (*path, "?"))  # take in all of what it is
            return "?"
        if HOSTILE.search(event.value) or "\n" in event.value or len(event.value) > 200:
            self._fault(event, path, "A key is one line of at most 200 printable characters.")
        return str(event.value)

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> object:
        text: str = event.value
        if HOSTILE.search(text):
            self._fault(event, path, "The text has characters that are not allowed (written as escapes).")
        if not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        return _number(text) if _NUMBER.fullmatch(text) else text


def _number(text: str) -> int | float:
    """Read a number as JSON does, which has one kind of number: 8.0 is the integer 8."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _place(event: yaml.Event) -> Place:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
