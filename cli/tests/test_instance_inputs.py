"""Inputs of an app: from a file, from --set, and from questions that its schema makes."""

from pathlib import Path
from typing import Any

import pytest

from gpuaas_cli.failures import CommandFailed
from gpuaas_cli.instance_inputs import InputForm, parse_value, question, read_inputs

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["greeting", "tries"],
    "properties": {  # in the order of a database that sorts names by their length
        "mode": {"enum": ["loud", "quiet"], "default": "quiet"},
        "tries": {"type": "integer"},
        "labels": {"type": "array"},
        "greeting": {"type": "string", "x-ui": {"label": "Greeting"}, "description": "what it says first"},
    },
}


class Person:
    """Types the answers one after the other, and remembers what was asked and offered."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str | None]] = []
        self.told: list[str] = []

    def ask(self, text: str, offered: str | None) -> str:
        self.asked.append((text, offered))
        answer = self.answers.pop(0)
        return offered if answer == "" and offered is not None else answer


def test_the_schema_makes_the_questions_and_reads_the_answers() -> None:
    person = Person("hello", "3", '["a"]', "")
    answers = InputForm(SCHEMA).ask_missing({}, person.ask, person.told.append, everything=True)
    assert answers == {"greeting": "hello", "tries": 3, "mode": "quiet", "labels": ["a"]}
    assert [text for text, _ in person.asked] == [
        "Greeting (greeting) – what it says first",
        "tries",
        "labels",
        "mode [loud|quiet]",
    ]


def test_what_cannot_be_read_is_asked_again_and_what_is_optional_may_be_left_out() -> None:
    person = Person("hello", "many", "true", "3", "", "shouting", "loud")
    answers = InputForm(SCHEMA).ask_missing({}, person.ask, person.told.append, everything=True)
    assert answers == {"greeting": "hello", "tries": 3, "mode": "loud"}
    assert person.told == [
        "'many' is not an integer.",
        "'true' is not an integer.",
        "'shouting' is not one of loud, quiet.",
    ]


def test_a_person_who_gives_some_inputs_is_asked_only_for_required_ones() -> None:
    person = Person("2")
    form = InputForm(SCHEMA)
    given = form.parse_assignments(["greeting=1.50"])
    assert given == {"greeting": "1.50"}, "a string stays what was typed"
    assert form.ask_missing(given, person.ask, person.told.append, everything=False) == {"tries": 2}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("greeting", "not name=value"),
        ("=x", "not name=value"),
        ("color=red", "no input color"),
        ("tries=1.5", "not an integer"),
        ("labels={}", "not a JSON list"),
        ("mode=loudest", "not one of loud, quiet"),
    ],
)
def test_an_assignment_that_does_not_fit_is_refused_before_anything_is_sent(assignment: str, said: str) -> None:
    with pytest.raises(CommandFailed) as refused:
        InputForm(SCHEMA).parse_assignments([assignment])
    assert said in refused.value.message
    assert refused.value.exit_code == 2


def test_without_a_type_a_value_is_json_where_it_can_be() -> None:
    assert [parse_value({}, text) for text in ("3", "yes", "true", '{"a": 1}')] == [3, "yes", True, {"a": 1}]
    assert parse_value({"type": ["integer", "null"]}, "null") is None
    assert question("x", {"title": "The X"}) == "The X (x)"


def test_a_file_is_yaml_or_json_with_one_object(tmp_path: Path) -> None:
    file = tmp_path / "inputs"
    file.write_text("greeting: hello\ntries: 3\n")
    assert read_inputs(file) == {"greeting": "hello", "tries": 3}
    file.write_text('{"greeting": "hello"}')
    assert read_inputs(file) == {"greeting": "hello"}
    for wrong in ("- a list\n", "{", "1: a number as a name\n"):
        file.write_text(wrong)
        with pytest.raises(CommandFailed):
            read_inputs(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandFailed):
        read_inputs(file)
    with pytest.raises(CommandFailed):
        read_inputs(tmp_path / "none")
