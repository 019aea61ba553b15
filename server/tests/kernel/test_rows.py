"""Typed rows: one dataclass names the columns of a SELECT and of an INSERT, in a pipeline too."""

import re
from dataclasses import FrozenInstanceError, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gpuaas_server
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.rows import (
    columns_of,
    computed,
    execute,
    fetch_all,
    fetch_mapping,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    fields_of,
    recordset_insert,
    values_insert,
    values_of,
    with_changes,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class InsertedThing:
    id: str
    size: int
    made_at: datetime
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Thing(InsertedThing):
    place: int
    double: int = computed("t.size * 2")


@dataclass(frozen=True, slots=True)
class Pair:
    first: int
    second: int
    third: int = 3


@dataclass(frozen=True, slots=True)
class Checked:
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.size * 2)


@dataclass(frozen=True, slots=True)
class Sealed:
    id: str
    sealed: bytes


TABLE = "CREATE TEMP TABLE things (id text, size int, made_at timestamptz, data jsonb, place int GENERATED ALWAYS AS IDENTITY)"


def test_one_class_names_the_columns_of_both_directions() -> None:
    assert columns_of(InsertedThing) == "id, size, made_at, data"
    assert columns_of(Thing, "t") == "t.id, t.size, t.made_at, t.data, t.place, t.size * 2 AS double"
    assert recordset_insert("things", InsertedThing) == (
        "INSERT INTO things (id, size, made_at, data) SELECT id, size, made_at, data"
        " FROM jsonb_populate_recordset(NULL::things, %s::jsonb)"
    )
    assert values_insert("secrets", Sealed) == "INSERT INTO secrets (id, sealed) VALUES (%s, %s)"
    assert values_of(Sealed("a", b"x")) == ["a", b"x"]
    assert fields_of(Pair(1, 2)) == {"first": 1, "second": 2, "third": 3}


def test_a_copy_has_the_changes_and_the_row_stays_as_it_was() -> None:
    pair = Pair(1, 2)
    assert with_changes(pair, {"second": 5}) == Pair(1, 5)
    assert pair == Pair(1, 2)
    with pytest.raises(KeyError):
        with_changes(pair, {"fourth": 4})


async def test_what_is_inserted_comes_back_typed(platform: Platform) -> None:
    """A number of more than 64 bits goes the slow way through JSON, and arrives."""
    rows = [InsertedThing("a", 1, NOW, {"n": 2**80}), InsertedThing("b", 2, NOW, {})]
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        await tx.connection.execute(TABLE)
        tx.later.insert(recordset_insert("things", InsertedThing), rows)
        await tx.flush()
        select = f"SELECT {columns_of(Thing, 't')} FROM things t ORDER BY id"
        found = await fetch_all(tx.connection, Thing, select)
        assert found == [Thing("a", 1, NOW, {"n": 2**80}, 1, 2), Thing("b", 2, NOW, {}, 2, 4)]
        await tx.connection.execute("DROP TABLE things")


async def test_one_row_of_bytes_is_inserted_by_its_values(platform: Platform) -> None:
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        await tx.connection.execute("CREATE TEMP TABLE boxes (id text, sealed bytea) ON COMMIT DROP")
        returning = f"{values_insert('boxes', Sealed)} RETURNING {columns_of(Sealed)}"
        assert await fetch_one(tx.connection, Sealed, returning, values_of(Sealed("a", b"\0x"))) == Sealed("a", b"\0x")


async def test_a_row_from_the_database_is_as_frozen_as_one_that_was_constructed(platform: Platform) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        read = await fetch_one(connection, Pair, "SELECT 1 AS first, 2 AS second, 3 AS third")
        lane = await fetch_one(connection, Checked, "SELECT 4 AS size")
    assert (type(read), read, hash(read)) == (Pair, Pair(1, 2), hash(Pair(1, 2)))
    with pytest.raises(FrozenInstanceError):
        read.first = 5  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del read.first
    assert lane == Checked(4)
    assert lane.size == 8, "what a class does after its construction, it does for rows too"


async def test_columns_written_by_hand_are_told_apart_by_name(platform: Platform) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        assert await fetch_one(connection, Pair, "SELECT 2 AS second, 1 AS first") == Pair(1, 2)
        assert await fetch_optional(connection, Pair, "SELECT 1 AS first, 2 AS second WHERE false") is None
        with pytest.raises(LookupError, match="Pair"):
            await fetch_one(connection, Pair, "SELECT 1 AS first, 2 AS second WHERE false")


@pytest.mark.parametrize("columns", ["1 AS first", "1 AS first, 2 AS second, 4 AS fourth", "1 AS first, 2 AS first"])
async def test_a_statement_that_does_not_fit_the_row_is_refused_even_when_it_finds_nothing(
    platform: Platform, columns: str
) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        with pytest.raises(TypeError, match="does not fit Pair"):
            await fetch_all(connection, Pair, f"SELECT {columns} WHERE false")


async def test_statements_of_a_pipeline_are_read_in_any_order(platform: Platform) -> None:
    async with platform.database.transaction(PLATFORM) as connection:
        pair = await execute(connection, Pair, "SELECT 1 AS first, 2 AS second")
        assert await fetch_values(connection, int, "SELECT generate_series(1, 3)") == [1, 2, 3]
        assert await pair.fetchall() == [Pair(1, 2)]
        assert await fetch_value(connection, str, "SELECT NULL::text") is None
        assert await fetch_value(connection, int, "SELECT 1 WHERE false") is None


async def test_two_columns_become_a_mapping(platform: Platform) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        assert await fetch_mapping(connection, str, int, "SELECT 'a' AS k, 1 AS v UNION SELECT 'b', 2") == {
            "a": 1,
            "b": 2,
        }


def test_no_row_of_the_database_is_read_by_string_keys() -> None:
    """Where rows are dataclasses, mypy sees every column that is read. An export has columns that nothing else reads."""
    source = Path(gpuaas_server.__file__).parent
    exported = {source / "deletions/export_queries.py"}
    read_by_key = re.compile(r"\b(DictRow|dict_row)\b|\brow\[[\"']|fetch(one|all)\(\)\)?(\[0\])?\[[\"']")
    found = [path for path in source.rglob("*.py") if path not in exported and read_by_key.search(path.read_text())]
    assert found == []


def test_rows_are_json_whichever_writer_takes_them() -> None:
    row = InsertedThing("a", 1, NOW, {})
    assert as_json([row]) == '[{"id":"a","size":1,"made_at":"2026-01-02T03:04:05+00:00","data":{}}]'
