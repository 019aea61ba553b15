"""Which machines an operation opens to its controller. Pure."""

from collections.abc import Sequence

from psycopg.rows import DictRow

Json = dict[str, object]


def allocations_opened(
    components: Sequence[Json], members: Sequence[DictRow], mine: Sequence[DictRow]
) -> tuple[str, ...]:
    """Those of the members that it works on, and those of the components that these depend on: who joins or leaves a
    cluster is made known to its head, and only the app's own manifest says who that is.
    """
    depends = {component["key"]: component.get("depends_on") or () for component in components}
    heads = {key for member in mine for key in _words(depends.get(member["component_key"], ()))}
    wanted = [*mine, *(member for member in members if member["component_key"] in heads)]
    return tuple(sorted({member["allocation_id"] for member in wanted if not member["host_gone"]}))


def _words(listed: object) -> list[str]:
    return [str(word) for word in listed] if isinstance(listed, list | tuple) else []
