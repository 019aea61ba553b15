"""Typed rows: each entity is a frozen dataclass whose fields are its columns, and psycopg builds it without a dict between.

A noun names its columns once, in the dataclass. `columns_of` writes them into a SELECT or RETURNING, `recordset_insert`
and `values_insert` into an INSERT, and the fetch functions read them back:

    @dataclass(frozen=True, slots=True)
    class SkuRow:
        id: str
        name: str
        uses: int = computed("(SELECT count(*) FROM allocations a WHERE a.sku_id = s.id)")

    await fetch_optional(connection, SkuRow, f"SELECT {columns_of(SkuRow, 's')} FROM skus s WHERE s.id = %s", (sku_id,))

A statement may also write its columns by hand, in any order: their names must be the fields' names.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields
from operator import attrgetter
from typing import Any, TypeVar

from psycopg import AsyncCursor
from psycopg.abc import Params
from psycopg.rows import AsyncRowFactory, RowMaker, no_result, scalar_row, tuple_row

from gpuaas_server.kernel.database import Connection

Row = TypeVar("Row")
Key = TypeVar("Key")
Value = TypeVar("Value")

_EXPRESSION = "sql"


def computed(expression: str) -> Any:
    """Declare a field that is read from an SQL expression and never inserted. mypy wants it after the plain fields."""
    return field(metadata=computed_from(expression))


def computed_from(expression: str) -> dict[str, str]:
    """Return the metadata of a computed field before plain ones, as a class needs that others extend: `field(metadata=...)`."""
    return {_EXPRESSION: expression}


class _Layout:
    """Holds what is known about a row class. It is collected once, since dataclasses look it up slowly."""

    def __init__(self, row: type[Any]) -> None:
        self.row = row
        self.fields: tuple[Field[Any], ...] = fields(row)
        self.names = tuple(each.name for each in self.fields)
        self.encoded = [name.encode() for name in self.names]
        self.inserted = tuple(each.name for each in self.fields if _EXPRESSION not in each.metadata)
        self.required = {
            each.name for each in self.fields if each.default is MISSING and each.default_factory is MISSING
        }
        self.selected: dict[str, str] = {}
        self.positions = {name: number for number, name in enumerate(self.names)}
        self.read = _reader(self.names)
        self._build: RowMaker[Any] | None = None

    @property
    def build(self) -> RowMaker[Any]:
        """The function that makes a row of its values; it is written when the first row is read, not at start."""
        if self._build is None:
            self._build = _builder(self.row, self.names)
        return self._build

    def select(self, alias: str) -> str:
        prefix = f"{alias}." if alias else ""
        columns = [
            f"{each.metadata[_EXPRESSION]} AS {each.name}" if _EXPRESSION in each.metadata else f"{prefix}{each.name}"
            for each in self.fields
        ]
        self.selected[alias] = ", ".join(columns)
        return self.selected[alias]

    def make_rows(self, cursor: AsyncCursor[Any]) -> RowMaker[Any]:
        """Return the row factory: psycopg calls it once for each result, and then what it returns once for each row."""
        result = cursor.pgresult
        if result is None or not result.nfields:
            return no_result
        given = [result.fname(number) for number in range(result.nfields)]
        if given == self.encoded:
            return self.build
        names = [(name or b"").decode() for name in given]
        if not self.required <= set(names) <= set(self.names):
            lacking, unknown = sorted(self.required - set(names)), sorted(set(names) - set(self.names))
            raise TypeError(f"the statement does not fit {self.row.__name__}: it lacks {lacking} and adds {unknown}")
        row = self.row
        return lambda values: row(**dict(zip(names, values, strict=True)))


def _builder(row: type[Any], names: tuple[str, ...]) -> RowMaker[Any]:
    """Return a function that fills a new row's slots and freezes it, ten times as fast as the constructor of a frozen class.

    It fills an instance of a subclass that is not frozen and has the same slots, and then changes its class to `row`.
    """
    if hasattr(row, "__post_init__"):
        return lambda values: row(*values)
    thawed = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    scope: dict[str, Any] = {"new": object.__new__, "thawed": type(row.__name__, (row,), thawed), "row": row}
    filled = "".join(f"self.{name}, " for name in names)
    source = f"def build(values):\n self = new(thawed)\n {filled}= values\n self.__class__ = row\n return self"
    exec(source, scope)  # noqa: S102 - the names of our own fields, as dataclasses themselves do it
    build: RowMaker[Any] = scope["build"]
    return build


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these attributes of a row; with one name `attrgetter` would give the value alone."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda row: tuple(getattr(row, name) for name in names)


_layouts: dict[type[Any], _Layout] = {}


def _layout(row: type[Any]) -> _Layout:
    found = _layouts.get(row)
    if found is None:
        found = _layouts[row] = _Layout(row)
    return found


def columns_of(row: type[Any], alias: str = "") -> str:
    """Return the column list of a SELECT or RETURNING. `alias` qualifies the plain columns of a join."""
    layout = _layout(row)
    return layout.selected.get(alias) or layout.select(alias)


def row_factory(row: type[Row]) -> AsyncRowFactory[Row]:
    return _layout(row).make_rows


def recordset_insert(table: str, row: type[Any]) -> str:
    """Return an INSERT of many rows whose only parameter is their JSON, as `DeferredWrites.insert` and `as_json` make it.

    The types come from the table itself. JSON has no bytes: a row with such a field needs `values_insert`.
    """
    columns = ", ".join(_layout(row).inserted)
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb)"


def values_insert(table: str, row: type[Any]) -> str:
    """Return an INSERT of one row; `values_of` has its parameters."""
    names = _layout(row).inserted
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"


def values_of(row: Any) -> list[object]:
    return [getattr(row, name) for name in _layout(type(row)).inserted]


def with_changes(row: Row, changes: Mapping[str, object]) -> Row:
    """Copy a row with other values in some columns.

    It is what `dataclasses.replace` does, in a fraction of the time: an instance may have a thousand members.
    """
    layout = _layout(type(row))
    values = list(layout.read(row))
    for name, value in changes.items():
        values[layout.positions[name]] = value
    copy: Row = layout.build(values)
    return copy


def fields_of(row: Any) -> dict[str, Any]:
    """Return the row's fields by name, for a wire type that has the same ones: `Sku(**fields_of(row), allowed_actions=...)`."""
    layout = _layout(type(row))
    return dict(zip(layout.names, layout.read(row), strict=True))


async def execute(
    connection: Connection, row: type[Row], statement: str, parameters: Params | None = None
) -> AsyncCursor[Row]:
    """Send a statement whose rows are fetched later: in a transaction it travels with the statements around it."""
    return await connection.cursor(row_factory=row_factory(row)).execute(statement, parameters)


async def execute_scalar(
    connection: Connection, kind: type[Value], statement: str, parameters: Params | None = None
) -> AsyncCursor[Value]:
    """Send a statement of one column, as `execute` does. `kind` is for mypy only, and is not checked."""
    return await connection.cursor(row_factory=scalar_row).execute(statement, parameters)


async def fetch_one(connection: Connection, row: type[Row], statement: str, parameters: Params | None = None) -> Row:
    """Return the row of a statement that always has one, such as the RETURNING of an INSERT."""
    found = await fetch_optional(connection, row, statement, parameters)
    if found is None:
        raise LookupError(f"the statement found no {row.__name__}")
    return found


async def fetch_optional(
    connection: Connection, row: type[Row], statement: str, parameters: Params | None = None
) -> Row | None:
    """Return the first row; None when there is none."""
    return await (await execute(connection, row, statement, parameters)).fetchone()


async def fetch_all(
    connection: Connection, row: type[Row], statement: str, parameters: Params | None = None
) -> list[Row]:
    return await (await execute(connection, row, statement, parameters)).fetchall()


async def fetch_value(
    connection: Connection, kind: type[Value], statement: str, parameters: Params | None = None
) -> Value | None:
    """Return the first column of the first row; None when there is no row, or it is NULL."""
    return await (await execute_scalar(connection, kind, statement, parameters)).fetchone()


async def fetch_values(
    connection: Connection, kind: type[Value], statement: str, parameters: Params | None = None
) -> list[Value]:
    """Return the first column of every row."""
    return await (await execute_scalar(connection, kind, statement, parameters)).fetchall()


async def fetch_mapping(
    connection: Connection, key: type[Key], value: type[Value], statement: str, parameters: Params | None = None
) -> dict[Key, Value]:
    """Return the second column of every row by its first. `key` and `value` are for mypy only."""
    cursor = await connection.cursor(row_factory=tuple_row).execute(statement, parameters)
    return dict(await cursor.fetchall())
