"""The files that come first in a run are there, and each is named once."""

from system_support.file_order import LONGEST
from system_support.server import REPOSITORY


def test_every_file_of_the_order_exists_and_is_named_once() -> None:
    assert [path for path in LONGEST if not (REPOSITORY / path).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)
