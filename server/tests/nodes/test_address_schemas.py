"""What the contract says of addresses and networks is what the server takes."""

import random
import re

import pytest
from pydantic import TypeAdapter, ValidationError

from gpuaas_server.nodes.schemas import Address, Network

FIELDS: dict[str, TypeAdapter[str]] = {"address": TypeAdapter(Address), "network": TypeAdapter(Network)}
PARTS = ("", "", "0", "a", "ffff", "12345", "1", "01", "255", "256", "g-", ":", ".", "/0", "/32", "/33", "/128", "/129")


def taken(field: TypeAdapter[str], text: str) -> bool:
    try:
        field.validate_python(text)
    except ValidationError:
        return False
    return True


def spellings() -> list[str]:
    """Like addresses and networks, right and wrong."""
    chance = random.Random(1)
    words = [":".join(chance.choices(PARTS[:8], k=chance.randint(1, 9))) for _ in range(2000)]
    v4 = [".".join(chance.choices(PARTS[2:10], k=4)) for _ in range(1000)]
    mixed = [f"{chance.choice(words)}:{chance.choice(v4)}" for _ in range(2000)]
    ends = [f"{text}{chance.choice(PARTS[13:])}" for text in (*words, *v4, *mixed)]
    right = [
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "1::",
        "::",
        "1:2:3:4:5::192.0.2.1",
        "::192.0.2.1",
    ]
    return [*words, *v4, *mixed, *ends, *right, "1:2:3:4:5:6:192.0.2.1", "10.0.0.1/032", "a" * 63, "a" * 64, ".a"]


@pytest.mark.parametrize("name", FIELDS)
def test_the_pattern_says_what_is_taken(name: str) -> None:
    schema = FIELDS[name].json_schema()
    texts = spellings()
    said = {t for t in texts if re.search(schema["pattern"], t) and len(t) <= schema.get("maxLength", len(t))}
    right = {t for t in texts if taken(FIELDS[name], t)}
    assert said == right
    assert len(right) > 100
