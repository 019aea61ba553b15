"""What each page of the console calls: the addresses in its sources, and which routes lead to the file that has them."""

import re
from functools import cache
from pathlib import Path

from system_support.documents import REPOSITORY
from system_support.parity.contract import shape_of, verbs_of_instances

SOURCES = REPOSITORY / "console/src"
ROUTES = SOURCES / "app/routes.tsx"
FRAME = "the frame"  # what is around every page
_ADDRESS = re.compile(r"""(?:\.(?P<method>GET|POST|PUT|PATCH|DELETE)\(\s*)?["'`](?P<path>/api/v1/[^"'`\s]*)["'`]""")
_IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""")
_PAGE = re.compile(r"""path:\s*"([^"]+)"(?:(?!path:).)*?import\("(\.[^"]+)"\)""", re.DOTALL)


def calls_of_pages() -> dict[tuple[str, str], list[str]]:
    """(method, shape of the path) to the routes that offer it."""
    reached = {route: _reached(ROUTES.parent / file) for route, file in routes().items()}
    found: dict[tuple[str, str], list[str]] = {}
    for file in _sources():
        users = sorted(route for route, files in reached.items() if file in files)
        for call in _calls(file):
            known = found.setdefault(call, [])
            known += [one for one in (users or [FRAME]) if one not in known]
    return found


def routes() -> dict[str, str]:
    """Every page of the console, as people write its address (/things/:id), and its file."""
    return {route.replace("$", ":"): file for route, file in _PAGE.findall(ROUTES.read_text())}


def _sources() -> list[Path]:
    files = sorted(path for path in SOURCES.rglob("*.ts*") if ".test." not in path.name)
    return [path for path in files if not path.name.endswith(".d.ts")]


def _calls(file: Path) -> set[tuple[str, str]]:
    return {
        (one["method"] or "GET", shape_of(path))
        for one in _ADDRESS.finditer(file.read_text())
        for path in _of_all_kinds(one["path"])
    }


def _of_all_kinds(path: str) -> list[str]:
    """The addresses that a template for all kinds of operation stands for."""
    before, mark, after = path.partition("${kind}")
    return [before + kind + after for kind in verbs_of_instances()] if mark else [path]


def _reached(start: Path) -> set[Path]:
    """The files that a page is made of. What the frame offers stays the frame's."""
    found: set[Path] = set()
    waiting = [_resolved(start)]
    while waiting:
        file = waiting.pop()
        if file is not None and file not in found and not file.is_relative_to(ROUTES.parent):
            found.add(file)
            waiting += [_resolved(file.parent / name) for name in _IMPORT.findall(file.read_text())]
    return found


@cache
def _resolved(path: Path) -> Path | None:
    for suffix in ("", ".tsx", ".ts", "/index.ts", "/index.tsx"):
        found = Path(f"{path}{suffix}").resolve()
        if found.is_file() and found.suffix in (".ts", ".tsx"):
            return found
    return None
