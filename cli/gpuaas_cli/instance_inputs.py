"""An app's inputs at launch: read from a file, from --set, or, on a terminal, from answers to questions."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from gpuaas_cli.failures import CommandFailed, ExitCode

Document = dict[str, object]
_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
Ask = Callable[[str, str | None], str]  # (question, default) → answer


def read_inputs(file: Path) -> Document:
    """Read a YAML or JSON file with one object."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(f"{file} cannot be read: {error.strerror}.", "Check the path.") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise _refused(f"{file} is neither YAML nor JSON: {error}", "Correct it.") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise _refused(f"{file} does not hold one object of named inputs.", "Write it as `name: value` lines.")
    return content


class InputForm:
    """The inputs of one version, from its `inputs` schema. The server validates the answers completely."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        properties, required = schema.get("properties"), schema.get("required")
        self._required: list[str] = required if isinstance(required, list) else []
        self._properties = _in_order(properties, self._required) if isinstance(properties, Mapping) else {}
        self._closed = schema.get("additionalProperties") is False

    def parse_assignments(self, assignments: Sequence[str]) -> Document:
        """Parse `name=value` from the command line; the schema gives the type of each value."""
        return dict(self._assignment(one) for one in assignments)

    def _assignment(self, text: str) -> tuple[str, object]:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise _refused(f"--set {text} is not name=value.", "Write it as --set name=value.")
        if self._closed and name not in self._properties:
            known = ", ".join(self._properties) or "none"
            raise _refused(f"The app has no input {name}.", f"Its inputs are: {known}.")
        try:
            return name, parse_value(self._property(name), value)
        except ValueError as error:
            raise _refused(f"--set {name}: {error}.", "Correct the value.") from error

    def ask_missing(
        self, given: Mapping[str, object], ask: Ask, say: Callable[[str], None], everything: bool
    ) -> Document:
        """Ask for inputs that are not given: all of them, or only the required ones."""
        answers: Document = {}
        for name, property_ in self._open(given):
            needed = name in self._required and "default" not in property_
            if needed or everything:
                answer = _answer(name, property_, needed, ask, say)
                answers |= {} if answer is None else {name: answer[0]}
        return answers

    def _open(self, given: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
        return ((name, self._property(name)) for name in self._properties if name not in given)

    def _property(self, name: str) -> Mapping[str, object]:
        found = self._properties.get(name)
        return found if isinstance(found, Mapping) else {}


def _in_order(properties: Mapping[str, object], required: list[str]) -> Mapping[str, object]:
    """Sort inputs: required ones first, as the schema lists them. Other names have no order in a stored schema."""
    first = [name for name in required if name in properties]
    return {name: properties[name] for name in [*first, *sorted(properties.keys() - set(first))]}


def _answer(
    name: str, property_: Mapping[str, object], needed: bool, ask: Ask, say: Callable[[str], None]
) -> tuple[object] | None:
    """Ask until the answer is valid; an empty answer leaves out an optional input."""
    offered = property_.get("default")
    default = _shown(offered) if "default" in property_ else None if needed else ""
    while True:
        text = ask(question(name, property_), default)
        if text == "" and not needed:
            return None
        try:
            return (parse_value(property_, text),)
        except ValueError as error:
            say(f"{error}.")


def question(name: str, property_: Mapping[str, object]) -> str:
    hints = property_.get("x-ui")
    label = (hints.get("label") if isinstance(hints, Mapping) else None) or property_.get("title")
    words = [f"{label} ({name})" if label else name]
    if property_.get("description"):
        words.append(f"– {property_['description']}")
    choices = property_.get("enum")
    if isinstance(choices, list):
        words.append(f"[{'|'.join(_shown(one) for one in choices)}]")
    return " ".join(words)


def parse_value(property_: Mapping[str, object], text: str) -> object:
    """Parse a text as a value of this property; ValueError says what was expected."""
    kind = property_.get("type")
    choices = property_.get("enum")
    if isinstance(choices, list):
        for choice in choices:
            if text == _shown(choice):
                return choice
        raise ValueError(f"{text!r} is not one of {', '.join(_shown(one) for one in choices)}")
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return text
    try:
        value = json.loads(text)
    except ValueError as error:
        if kind is None:
            return text
        raise ValueError(f"{text!r} is not {_named(kind)}") from error
    wanted = kind if isinstance(kind, list) else [kind]
    if kind is not None and not any(_is(one, value) for one in wanted):
        raise ValueError(f"{text!r} is not {_named(kind)}")
    return value


def _is(kind: object, value: object) -> bool:
    if isinstance(value, bool):  # in Python, bool is a subclass of int
        return kind == "boolean"
    return isinstance(value, _TYPES.get(str(kind), ()))


def _named(kind: object) -> str:
    names = {"boolean": "true or false", "array": "a JSON list", "object": "a JSON object", "integer": "an integer"}
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(names.get(str(one), f"a {one}") for one in kinds)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _refused(sentence: str, next_step: str) -> CommandFailed:
    return CommandFailed("usage", sentence, next_step, ExitCode.USAGE)
