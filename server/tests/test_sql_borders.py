"""SQL keeps the order of the nouns, which the imports alone do not show: no statement names a table of a higher noun."""

import ast
import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from gpuaas_server.migrations.schema import metadata, noun_of_table

REPOSITORY = Path(__file__).parents[2]
SERVER = REPOSITORY / "server" / "gpuaas_server"
PAGE = REPOSITORY / "docs" / "explanation" / "architecture.md"
_NAME = r"[a-z_][a-z_0-9]*"
_ITEM = rf"{_NAME}(?:\s+(?:AS\s+)?{_NAME})?"
# What stands where a statement names tables; keywords are in capitals, so that prose is none.
_NAMED = re.compile(
    r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|REFERENCES|ON|USING|LATERAL)\s+(?:ONLY\s+|IF\s+(?:NOT\s+)?EXISTS\s+)?"
    rf"({_ITEM}(?:\s*,\s*{_ITEM})*)"
)
_WALLED = re.compile(r"SELECT\s+(?:raise|hide)_\w+\('(\w+)'\)")

# What reads a table of a higher noun all the same, with the reason. architecture.md has the same list.
EXCEPTIONS = {
    ("identity/queries/logins.py", "tenants"),
    ("identity/queries/principals.py", "projects"),
    ("identity/queries/principals.py", "tenants"),
    ("identity/queries/service_accounts.py", "projects"),
    ("identity/queries/service_accounts.py", "tenants"),
    ("identity/queries/sessions.py", "tenants"),
}


def layer_of_noun() -> dict[str, int]:
    config = ConfigParser()
    config.read(REPOSITORY / ".importlinter")
    layers = config["importlinter:contract:order"]["layers"].strip().splitlines()
    return {noun.strip(): number for number, layer in enumerate(reversed(layers)) for noun in layer.split("|")}


def tables_named(text: str) -> set[str]:
    """The tables that a text names as SQL does."""
    named = {item.split()[0] for found in _NAMED.finditer(text) for item in found[1].split(",")}
    return (named | set(_WALLED.findall(text))) & set(metadata.tables)


def texts_of(path: Path) -> Iterator[str]:
    """The file if it is SQL; of a module its literals, but no docstring."""
    if path.suffix == ".sql":
        yield re.sub(r"--.*", "", path.read_text())
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def upward_reads(root: Path) -> set[tuple[str, str]]:
    """(file, table) of each statement of a noun that names a table of another noun that is not below it."""
    layers, owners, found = layer_of_noun(), noun_of_table(), set()
    for path in root.rglob("*"):
        place = path.relative_to(root)
        noun = place.parts[0]
        if noun not in layers or path.suffix not in (".py", ".sql") or path.name.endswith("_down.sql"):
            continue
        for table in {table for text in texts_of(path) for table in tables_named(text)}:
            if owners[table] != noun and layers[owners[table]] >= layers[noun]:
                found.add((place.as_posix(), table))
    return found


def test_no_sql_names_a_table_of_a_higher_noun() -> None:
    assert upward_reads(SERVER) == EXCEPTIONS


def test_the_page_gives_a_reason_for_each_exception() -> None:
    listed = re.findall(r"^\| `([\w/]+\.py)` \| ((?:`\w+`(?:, )?)+) \| .+ \|$", PAGE.read_text(), re.MULTILINE)
    assert {(path, table) for path, tables in listed for table in re.findall(r"`(\w+)`", tables)} == EXCEPTIONS


def test_every_table_has_one_noun() -> None:
    assert set(noun_of_table()) == set(metadata.tables)
    assert set(noun_of_table().values()) <= set(layer_of_noun())


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM users u, app_instances i",
        "SELECT 1 FROM users u LEFT JOIN app_instances AS i ON true",
        "CREATE POLICY wall ON app_instances USING (true)",
        "UPDATE app_instances SET name = ''",
        "DELETE FROM ONLY app_instances",
        "SELECT raise_tenant_wall('app_instances')",
    ],
)
@pytest.mark.parametrize("name", ["queries.py", "rows.py", "sql/0200_tables.sql"])
def test_a_statement_that_goes_up_is_found(tmp_path: Path, statement: str, name: str) -> None:
    path = tmp_path / "identity" / name
    path.parent.mkdir(parents=True)
    path.write_text(
        f'"""From app_instances."""\n\nREAD = (\n    f"{statement} {{0}}"\n)\n' if name[-1] == "y" else statement
    )
    assert upward_reads(tmp_path) == {("identity/" + name, "app_instances")}
