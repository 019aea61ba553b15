"""What people see of a line that a host wrote."""

import time

import pytest

from gpuaas_server.logs.schemas import LONGEST_TEXT
from gpuaas_server.logs.text import MASK, shown_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[31mred\x1b[0m and \x1b]0;title\x07done", "red and done"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("bell\x07 null\x00 turned\u202e", "bell\ufffd null\ufffd turned\ufffd"),
        ("one\r\ntwo\nthree", "one \u21b5 two \u21b5 three"),
        ("a\ttab stays", "a\ttab stays"),
    ],
)
def test_escapes_go_and_the_rest_is_one_printable_line(written: str, shown: str) -> None:
    assert shown_text(written) == shown


@pytest.mark.parametrize(
    "secret",
    [
        "postgres://app:{}@db/x",
        "Authorization: Bearer {}",
        '"authorization": "Basic {}"',
        "export DB_PASSWORD={}",
        '{{"api_key": "{}"}}',
        "got gpuaas_pat_{} from the platform",
        "-----BEGIN OPENSSH PRIVATE KEY----- {}",
    ],
)
def test_a_secret_of_a_known_form_is_masked(secret: str) -> None:
    value = "c2VjcmV0LXZhbHVlLTEyMzQ1Njc4"
    shown = shown_text(secret.format(value))
    assert value not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("x eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl end", f"x {MASK} end"),
        ("not-eyJ-eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", f"not-{MASK}"),
        ("MY_LONG-NAMED_TOKEN = 12345678", f"MY_LONG-NAMED_TOKEN = {MASK}"),
    ],
)
def test_what_stands_before_a_secret_is_kept(written: str, shown: str) -> None:
    assert shown_text(written) == shown


def cost_of(piece: str) -> float:
    """Measure a line of the longest length, by the quickest of some times."""
    text = (piece * LONGEST_TEXT)[:LONGEST_TEXT]
    costs = []
    for _ in range(7):
        began = time.process_time()
        shown_text(text)
        costs.append(time.process_time() - began)
    return min(costs)


def test_a_long_line_of_a_hostile_writer_costs_about_as_much_as_another_one() -> None:
    plain = cost_of("some words of a line ")
    hostile = ("s-", "a-secre-", "eyJ-", "eyJaaaaaaaa.", "a.", "a:", "a.a://b:", "://:", "token=", "bearer ", "\x1b[0")
    costs = {piece: cost_of(piece) / plain for piece in hostile}
    assert max(costs.values()) < 5, costs  # 1.5; with expressions that try a character again and again it was 12
