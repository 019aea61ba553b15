"""Reads a manifest's text. JSON is YAML, so this reads both.

The text is not trusted. PyYAML only splits it into events; what they mean is decided here, as in JSON: no anchors (which
grow without bound), no tags (which make objects), no key twice, and a plain word is a word, be it `yes`, `12:30` or a date.
"""

import re
from collections.abc import Iterator

import yaml

from gpuaas_server.catalog.yaml_text import MOST_FAULTS, Document, Fault, Path, Unreadable, spell

LARGEST_TEXT = 128 * 1024
DEEPEST = 24
MOST_NODES = 20_000

# Characters that change what a person sees (bidirectional overrides, invisible ones) or what a terminal does.
HOSTILE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?")
_WORDS: dict[str, object] = {"": None, "null": None, "~": None, "true": True, "false": False}
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str) -> Document:
    """Read the document, or raise `Unreadable` with every reason why it is none."""
    if len(text) > LARGEST_TEXT or len(text.encode("utf-8", "replace")) > LARGEST_TEXT:
        raise Unreadable([Fault(1, 1, "", f"A manifest may have {LARGEST_TEXT} bytes.")])
    hostile = [_hostile_at(text, found.start()) for found in HOSTILE.finditer(text)]
    if hostile:
        raise Unreadable(hostile)
    reader = _Reader(text)
    try:
        reader.run()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = error.problem or error.context or "This is not YAML"
        raise Unreadable([*reader.faults, Fault(line, column, "", f"Not YAML: {problem}."[:300])]) from None
    except yaml.YAMLError:
        raise Unreadable([*reader.faults, Fault(1, 1, "", "Not YAML.")]) from None
    if reader.faults:
        raise Unreadable(reader.faults)
    return reader.document


def _hostile_at(text: str, position: int) -> Fault:
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return Fault(line, column, "", f"The character U+{ord(text[position]):04X} is not allowed.")


class _Reader:
    """Reads the events in one pass. A fault does not end it, so that all are found; too much of anything does."""

    def __init__(self, text: str) -> None:
        self.document = Document()
        self.faults: list[Fault] = []
        self._events: Iterator[yaml.Event] = iter(yaml.parse(text, Loader=_LOADER))
        self._nodes = 0

    def run(self) -> None:
        self._next()  # the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            raise Unreadable([Fault(1, 1, "", "The manifest is empty.")])
        self.document.value = self._node(self._next(), ())
        self._next()  # the document's end
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            self._fault(after, (), "A manifest is one document.")

    def _next(self) -> yaml.Event:
        return next(self._events)

    def _fault(self, event: yaml.Event, path: Path, message: str) -> None:
        self.faults.append(Fault(*_place(event), spell(path), message))
        if len(self.faults) >= MOST_FAULTS:
            raise Unreadable(self.faults)

    def _node(self, event: yaml.Event, path: Path) -> object:
        self._nodes += 1
        if len(path) > DEEPEST or self._nodes > MOST_NODES:
            too = "deep" if len(path) > DEEPEST else "large"
            raise Unreadable([*self.faults, Fault(*_place(event), spell(path[:8]), f"The manifest is too {too}.")])
        self.document.places[path] = _place(event)
        if getattr(event, "anchor", None) is not None:
            self._fault(event, path, "Anchors and aliases are not taken; write it out.")
        if isinstance(event, yaml.AliasEvent):
            return None
        if getattr(event, "tag", None) not in (None, "!"):
            self._fault(event, path, "YAML tags are not allowed.")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return self._scalar(event, path) if isinstance(event, yaml.ScalarEvent) else None

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, path)
            inside = (*path, key)
            if key in items:
                self._fault(event, inside, f"{_short(key)} appears twice here.")
            self.document.keys[inside] = _place(event)
            items[key] = self._node(self._next(), inside)
        return items

    def _key(self, event: yaml.Event, path: Path) -> str:
        if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.value == "<<":
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


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
