"""The server's `dataclass` behaves as the standard library's does."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the plane."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="", repr=False)
    note: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = "origin"

    @property
    def title(self) -> str:
        return self.name.title()


@dataclass(frozen=True, slots=True)
class Doubled:
    one: int
    two: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "two", 2 * self.one)


@dataclasses.dataclass(frozen=True, slots=True)
class Plain:
    x: int
    y: int = 2


def test_an_instance_is_made_from_positions_names_and_defaults() -> None:
    made = Named(1, tags=["a"], name="corner")
    assert (made.x, made.y, made.tags, made.name, made.title) == (1, 2, ["a"], "corner", "Corner")
    assert Point(1).tags is not Point(1).tags
    assert Doubled(3).two == 6


@pytest.mark.parametrize(("args", "named"), [((), {}), ((1, 2), {"y": 3}), ((1,), {"z": 1}), ((1, 2, 3), {})])
def test_wrong_arguments_are_refused_in_the_same_words(args: tuple[int, ...], named: dict[str, int]) -> None:
    @dataclass(frozen=True, slots=True)
    class Plain:
        x: int
        y: int = 2

    Plain.__qualname__ = "Plain"
    refused: list[str] = []
    for cls in (Plain, globals()["Plain"]):
        with pytest.raises(TypeError) as told:
            cls(*args, **named)
        refused.append(str(told.value))
    assert refused[0] == refused[1]


def test_instances_are_compared_hashed_and_shown_by_their_fields() -> None:
    assert Point(1, note="a") == Point(1, note="b") != Point(2)
    assert Point(1) != Named(1)
    assert hash(Plain(1, 2)) == hash(dataclass(frozen=True, slots=True)(type("P", (), _two()))(1, 2))
    assert len({Doubled(1), Doubled(1), Doubled(2)}) == 2
    assert repr(Named(1, secret="s")) == "Named(x=1, y=2, tags=[], note='', name='origin')"


def test_nothing_can_be_set_or_deleted() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_the_functions_of_the_standard_library_work() -> None:
    point = Named(1, name="corner")
    assert dataclasses.replace(point, x=5) == Named(5, name="corner")
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "tags": [], "secret": "", "note": ""}
    assert [each.name for each in dataclasses.fields(Doubled)] == ["one", "two"]
    assert copy.deepcopy(point) == copy.copy(point) == pickle.loads(pickle.dumps(point)) == point  # noqa: S301 - ours
    match point:
        case Named(x, _, _):
            assert x == 1
    assert (Point.__doc__, Doubled.__doc__) == ("A point of the plane.", None)


def test_other_arguments_are_left_to_the_standard_library() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Ordinary:
        x: int

    assert Ordinary(x=1).x == 1


@pytest.mark.parametrize(
    ("annotations", "members"),
    [
        ({"x": int}, {"x": field(kw_only=True)}),
        ({"x": int}, {"x": field(hash=False)}),
        ({"x": dataclasses.InitVar[int]}, {}),
        ({"x": int, "y": int}, {"x": 1}),
        ({"x": int}, {"__eq__": lambda self, other: True}),
    ],
    ids=["keyword only", "hash", "InitVar", "default before none", "equality of its own"],
)
def test_what_would_behave_in_another_way_is_refused_at_once(
    annotations: dict[str, Any], members: dict[str, Any]
) -> None:
    cls = type("Unusual", (), {"__annotations__": annotations, "__module__": __name__, **members})
    with pytest.raises(TypeError, match=r"need dataclasses\.dataclass"):
        dataclass(frozen=True, slots=True)(cls)


def test_one_field_is_compared_as_several_are() -> None:
    nan = float("nan")
    for make in (dataclass, dataclasses.dataclass):
        cls = make(frozen=True, slots=True)(type("One", (), {"__annotations__": {"x": float}, "__module__": __name__}))
        assert cls(nan) == cls(nan)
        assert hash(cls(1.5)) == hash((1.5,))


def _two() -> dict[str, Any]:
    return {"__annotations__": {"x": int, "y": int}, "__module__": __name__}
