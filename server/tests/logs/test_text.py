"""What people see of a line that a host wrote."""

import pytest

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


def test_a_long_line_of_a_hostile_writer_costs_little() -> None:
    for piece in ("a:", "://:", "token=", "bearer ", "\x1b[", "eyJaaaaaaaa."):
        shown_text((piece * 4096)[:4096])
