"""`dataclass` as in the standard library, with the methods of a frozen, slotted class written when it is first used.

The server has more than 400 such classes, and the standard library compiles six functions for each of them when a module is
loaded: that was a quarter of the time in which a process starts. See docs/decisions/0052.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(**arguments: bool) -> Callable[[type], type]:
        return _frozen if arguments == {"frozen": True, "slots": True} else dataclasses.dataclass(**arguments)

    def _frozen(cls: type) -> type:
        text = cls.__doc__
        cls.__doc__ = text or cls.__name__  # where there is none, the standard library writes one, slowly
        own = set(vars(cls))
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
        made.__doc__ = text
        _refuse_unusual(made, own)
        for name, method in _METHODS.items():
            if name not in own:
                setattr(made, name, method)
        if "__init__" not in own:
            made.__init__ = _first_init(made)
        return made


def _refuse_unusual(cls: type[Any], own: set[str]) -> None:
    """Refuse while the module is loaded what would behave in another way than with the standard library."""
    declared = cls.__dataclass_fields__.values()
    ordered = [each for each in fields(cls) if each.init]
    has_default = [each.default is not MISSING or each.default_factory is not MISSING for each in ordered]
    if (
        any(each.kw_only or each.hash is not None for each in fields(cls))
        or any("_FIELD_INITVAR" in str(each._field_type) for each in declared)
        or has_default != sorted(has_default)
        or ("__eq__" in own and cls.__hash__ is None)
    ):
        raise TypeError(f"{cls.__name__} has fields or methods that need dataclasses.dataclass")


def _first_init(cls: type[Any]) -> Callable[..., None]:
    def write_init(self: object, *args: object, **kwargs: object) -> None:
        cls.__init__ = _written_init(cls)
        cls.__init__(self, *args, **kwargs)

    return write_init


def _written_init(cls: type[Any]) -> Callable[..., None]:
    """Write an `__init__` that sets each slot through its descriptor, which the class's `__setattr__` does not see."""
    parameters, body, names = [], [], dict[str, Any]()
    for each in fields(cls):
        name = each.name
        names[f"_set_{name}"] = getattr(cls, name).__set__
        value = name
        if not each.init:
            continue  # what `__post_init__` sets
        if each.default is not MISSING:
            names[f"_default_{name}"] = each.default
            parameters.append(f"{name}=_default_{name}")
        elif each.default_factory is not MISSING:
            names["_MISSING"], names[f"_make_{name}"] = MISSING, each.default_factory
            parameters.append(f"{name}=_MISSING")
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        else:
            parameters.append(name)
        body.append(f" _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    source = f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(body or [" pass"])
    exec(source, names)  # noqa: S102 - the names of our own fields, as dataclasses themselves do it
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


@cache
def _compared(cls: type[Any]) -> Callable[[object], object]:
    names = [each.name for each in fields(cls) if each.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _compared(self.__class__)
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(_compared(self.__class__)(self))


def _setattr(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _setstate(self: Any, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_METHODS: dict[str, Callable[..., Any]] = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
