"""What registries answer to a request without credentials, as they write it."""

import pytest

from gpuaas_server.artifacts.challenges import Challenge, parse_challenges


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ('Basic realm="a registry"', [Challenge("basic", "a registry")]),
        (
            'Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull,push"',
            [Challenge("bearer", "https://auth.example.com/token", "registry.example.com")],
        ),
        (
            'BEARER Realm="https://a/t?x=1, y", Service=plain, Basic realm="with \\"quotes\\""',
            [Challenge("bearer", "https://a/t?x=1, y", "plain"), Challenge("basic", 'with "quotes"')],
        ),
        ("Negotiate", [Challenge("negotiate")]),
        ("", []),
        ('realm="without a scheme"', []),
        ('Bearer realm="never closed', [Challenge("bearer")]),
        ("\x00\x01", []),
    ],
)
def test_challenges_are_read_as_registries_write_them(header: str, read: list[Challenge]) -> None:
    assert parse_challenges([header]) == read


def test_a_huge_header_is_cut() -> None:
    assert parse_challenges(['Basic realm="' + "x" * 1_000_000]) == [Challenge("basic")]
