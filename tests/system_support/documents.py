"""The repository's Markdown as data: links, headings, and the commands of ```console blocks."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
_LEFT_OUT = {".venv", "var", "node_modules", ".git", "build", "dist"}
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
_PROMPT = "$ "


@dataclass
class Example:
    """One command as a page shows it, with the output lines below it and the block's mark (`<!-- … -->`)."""

    page: Path
    line: int
    command: str
    mark: str
    output: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}: {self.command}"


def pages() -> list[Path]:
    found = (path for path in REPOSITORY.rglob("*.md"))
    return sorted(path for path in found if not _LEFT_OUT & set(path.relative_to(REPOSITORY).parts))


def links(page: Path) -> list[str]:
    """Targets of links and pictures, code left out."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`(?!\])", "", text)
    return [first or second for first, second in _LINK.findall(text)]


def anchors(page: Path) -> set[str]:
    """Headings as GitHub names them."""
    headings = re.findall(r"^#+ +(.+?)\s*$", page.read_text(), flags=re.MULTILINE)
    bare = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in bare}


def examples(page: Path) -> list[Example]:
    """The commands of the page's console blocks in order; a line that ends in a backslash goes on."""
    found: list[Example] = []
    mark, before, inside = "", "", False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not inside:
            if line.strip() == "```console":
                inside = True
                mark = before.strip()[4:-3].strip() if before.strip().startswith("<!--") else ""
            before = line
        elif line.strip() == "```":
            inside, before = False, ""
        elif line.startswith(_PROMPT):
            found.append(Example(page, number, line[len(_PROMPT) :], mark))
        elif found and found[-1].command.endswith("\\"):
            found[-1].command = found[-1].command[:-1] + line.strip()
        elif found:
            found[-1].output.append(line)
    return found


def simple_commands(command: str) -> list[list[str]]:
    """The words of each command of a shell line, without variables set before it, sudo, and redirections."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    skip = False
    for word in lexer:
        if skip:
            skip = False
        elif set(word) <= set("<>"):
            skip = True
        elif set(word) <= set(";|&()"):
            commands.append([])
        elif not commands[-1] and (word == "sudo" or re.match(r"^[A-Z_]+=", word)):
            continue
        else:
            commands[-1].append(word)
    return [words for words in commands if words]
