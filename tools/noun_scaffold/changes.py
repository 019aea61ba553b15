"""What a new noun adds to files that are there already. CONTRIBUTING.md ("Add a noun") names the same places."""

import re

from noun_scaffold.names import Names, regular_plural
from noun_scaffold.tree import Tree

SERVER = "server/gpuaas_server"
SUPPORT = "tests/system_support"
REASONS = f"{SUPPORT}/parity/reasons.py"
NO_PAGE = "It has no page in the console yet; the CLI has commands for it."


def change_files(tree: Tree, names: Names) -> None:
    for change in (change_server, change_deletions, change_clients, change_tests, change_documents):
        change(tree, names)
    if names.states:
        change_machine(tree, names)
        change_worker(tree, names)


def change_server(tree: Tree, names: Names) -> None:
    one, many = names.one, names.many
    tree.add_after(".importlinter", "    deletions", f"    {many}\n")
    tree.add_text(f"{SERVER}/kernel/ids.py", f'{names.type}Id = Annotated[str, _pattern("{names.prefix}")]\n')
    tree.add_after(
        f"{SERVER}/app.py",
        "from gpuaas_server import __version__",
        f"from gpuaas_server.{many} import endpoints as {many}\n",
    )
    tree.add_entry(f"{SERVER}/app.py", "NOUNS = (", f"    {many},\n")
    # What a project's own `allowed_actions` offers: clients learn there who may create one.
    tree.add_entry(f"{SERVER}/projects/service.py", "_PROJECT_VERBS = (", f'    "{one}_create",\n')
    rules = {"create": "_ADMINISTER_PROJECT", "list": _READ, "show": _READ, "delete": "_END_IN_PROJECT"}
    rows = "".join(f'    "{one}_{verb}": {rule},\n' for verb, rule in rules.items())
    heading = f"    # {names.spell('Sample items')}\n"
    tree.add_entry(f"{SERVER}/identity/policy.py", "RULES: dict[str, Rule] = {", heading + rows)
    if many != regular_plural(one):
        tree.add_entry(f"{SERVER}/calls.py", "HOMES = {", f'    "{one}": "{many}",\n')
    add_table_import(tree, many)


_READ = "Rule(Level.PROJECT, _PROJECT_READERS)"


def add_table_import(tree: Tree, many: str) -> None:
    """Import the tables where migrations find them. The last import has the linter's exception for all of them."""
    path, exception = f"{SERVER}/migrations/schema.py", "  # noqa: F401"
    lines = re.findall(r"^import gpuaas_server\..*\n", tree.read(path), re.MULTILINE)
    imports = sorted([line.replace(exception, "") for line in lines] + [f"import gpuaas_server.{many}.tables\n"])
    tree.replace(path, "".join(lines), "".join(imports).rstrip("\n") + f"{exception}\n")


def change_deletions(tree: Tree, names: Names) -> None:
    columns = "id, project_id, name, created_by, created_at"
    if names.states:
        columns = columns.replace("name,", "name, state, state_since,")
    tree.add_entry(
        f"{SERVER}/deletions/inventory.py",
        "PROJECT_STAGES = (",
        f'    Stage("{names.many}", "project_id = %(place)s"),\n',
    )
    tree.add_entry(
        f"{SERVER}/deletions/exported_tables.py",
        "PROJECT_TABLES = (",
        f'    ExportedTable("{names.one}", "{names.many}", "{columns}", _OF_PROJECT),\n',
    )


def change_clients(tree: Tree, names: Names) -> None:
    main, references = "cli/gpuaas_cli/main.py", "cli/gpuaas_cli/references.py"
    tree.add_entry(main, "from gpuaas_cli.commands import (", f"    {names.many},\n")
    tree.add_entry(main, "for name, ", names.spell('    ("sample-items", sample_items),\n'))
    tree.add_entry(references, "from gpuaas_sdk import (", f"    {names.type},\n")
    tree.add_entry(references, "Thing = TypeVar(", f"    {names.type},\n")
    tree.add_text(references, names.spell(_REFERENCE))


_REFERENCE = """

def sample_item_id(client: Client, project: str, text: str) -> str:
    if is_id("smp", text):
        return text
    return only_one("sample item", text, client.sample_items.list(project), lambda one: (one.name,)).id
"""


def change_tests(tree: Tree, names: Names) -> None:
    tree.add_entry(f"{SUPPORT}/policy_requests.py", "RECIPES: dict[str, Recipe] = {", names.spell(_RECIPES))
    tree.add_text(f"{SUPPORT}/policy_fresh.py", names.spell(_FRESH))
    tree.add_after(
        f"{SUPPORT}/policy_callers.py",
        '        "project_id": project_id,',
        names.spell('        "sample_item_id": admin.sample_items.create(project_id, secrets.token_hex(3)).id,\n'),
    )
    tree.add_after(
        "server/tests/tests_support/deletable.py",
        "    await _trust(admin, tenant)",
        names.spell('    await admin.post(f"{path}/sample-items", {"name": "first"})\n'),
    )
    operations = ", ".join(f'"{names.one}_{verb}"' for verb in ("create", "list", "show", "delete"))
    add_reason(tree, operations)


def add_reason(tree: Tree, operations: str) -> None:
    """Say why the console does not offer the operations; all nouns without a page share one reason."""
    shared = rf'Absence\(\s*\(([^()]*)\),\s*\(CONSOLE,\),\s*"{NO_PAGE}"'
    found = re.findall(shared, tree.read(REASONS))
    if found:
        known = found[0].rstrip(", \n") + ", "
        tree.replace(REASONS, found[0], known + operations)
    else:
        tree.add_entry(REASONS, "ABSENCES = (", f'    Absence(({operations}), (CONSOLE,), "{NO_PAGE}"),\n')


_RECIPES = """    "sample_item_create": Recipe(lambda caller, ids: {"name": bodies.slug()}),
    "sample_item_list": READ,
    "sample_item_show": READ,
    "sample_item_delete": Recipe(fresh=fresh.sample_item),
"""
_FRESH = """

def sample_item(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"sample_item_id": fixture.admin.sample_items.create(ids["project_id"], slug()).id}
"""


def change_documents(tree: Tree, names: Names) -> None:
    next_table = "\n\n## Access and keys\n"  # of the glossary
    row = f"\n| {names.words} | {names.about} | `{names.type}` |"
    tree.replace("docs/reference/glossary.md", next_table, row + next_table)
    line = names.spell("- Sample items: a named thing of a project (API, `gpuaas sample-items`).\n")
    _, heading, rest = tree.read("CHANGELOG.md").partition("## Unreleased\n")
    unreleased = rest.partition("\n## ")[0]
    with_line = unreleased.replace("### Added\n", f"### Added\n{line}", 1)
    if with_line == unreleased:
        with_line = f"### Added\n{line}\n{unreleased}"
    tree.replace("CHANGELOG.md", heading + unreleased, heading + with_line)


def change_machine(tree: Tree, names: Names) -> None:
    """Write the transitions, each state to the next one."""
    path = f"{SERVER}/{names.many}/machine.py"
    [old] = re.findall(r"^TRANSITIONS: .* = \{\n((?:    .*\n)*)\}", tree.read(path), re.MULTILINE)
    pairs = zip(names.states, [*(f'{{"{state}"}}' for state in names.states[1:]), ""], strict=True)
    tree.replace(path, old, "".join(f'    "{state}": frozenset({following}),\n' for state, following in pairs))


def change_worker(tree: Tree, names: Names) -> None:
    worker = f"{SERVER}/processes/worker.py"
    tree.add_after(
        worker,
        "from gpuaas_server.wiring import connect_hooks",
        f"from gpuaas_server.{names.many}.reconciler import {names.type}Reconciler\n",
    )
    tree.add_entry(worker, "        [", f"            {names.type}Reconciler(),\n")
    tree.add_entry(f"{SERVER}/work/lanes.py", "LANE_OF_KIND: ", f'    "{names.one}": Lane.INTERACTIVE,\n')
    tree.add_after("docs/explanation/fairness.md", "| `terminal` | interactive |", f"| `{names.one}` | interactive |\n")
