"""The rules about words: the platform names no app, private words do not come back, and the glossary is in use."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERIC = ("contract", "server", "agent")
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
NAMED_IN = (
    "contract",
    "server",
    "docs/reference/cli.md",
    "docs/reference/settings.md",
    "docs/reference/agent-protocol.md",
)


def complaint(root: Path) -> str:
    """What tools/words says of the checkout; nothing when it is content."""
    done = subprocess.run([root / "tools" / "words"], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stdout if done.returncode else ""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with our contract in it, and nothing else that is generic."""
    for folder in (*GENERIC, "tools", "requirements"):
        (tmp_path / folder).mkdir()
    for name in ("words", "private-words.tsv"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    for one in (ROOT / "contract").glob("*.*"):
        shutil.copy(one, tmp_path / "contract")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
    return tmp_path


def test_the_platform_and_its_contract_name_no_app() -> None:
    assert complaint(ROOT) == ""


def test_the_contract_alone_passes(checkout: Path) -> None:
    assert complaint(checkout) == ""


@pytest.mark.parametrize("word", ["slurmctld", "Munge", "sbatch", "Kubernetes", "rke2", "JupyterLab", "vLLM"])
def test_an_apps_word_in_the_contract_is_found(checkout: Path, word: str) -> None:
    document = checkout / "contract" / "openapi.json"
    text = document.read_text()
    planted = text.replace('"description": "', f'"description": "For {word} and others. ', 1)
    assert planted != text
    document.write_text(planted)
    assert word in complaint(checkout)


@pytest.mark.parametrize("folder", GENERIC)
def test_a_new_file_is_read_before_it_is_committed(checkout: Path, folder: str) -> None:
    (checkout / folder / "placement.py").write_text('ROLE = "slurm"\n')
    assert f"{folder}/placement.py" in complaint(checkout)


def private_words() -> list[list[str]]:
    lines = (ROOT / "tools" / "private-words.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("word", ["introductions", "other_doors", "_Said", "the_introductions"])
def test_a_private_word_does_not_come_back(checkout: Path, word: str) -> None:
    (checkout / "server" / "placement.py").write_text(f"{word} = ()\n")
    assert f"server/placement.py:1:{word} = ()" in complaint(checkout)


def test_the_history_may_quote_a_private_word(checkout: Path) -> None:
    (checkout / "docs" / "decisions").mkdir(parents=True)
    for page in ("CHANGELOG.md", "docs/decisions/0001-words.md"):
        (checkout / page).write_text("`introductions` is now `hooks`.\n")
    assert complaint(checkout) == ""


def test_a_word_that_is_left_may_not_spread(checkout: Path) -> None:
    listing = checkout / "tools" / "private-words.tsv"
    listing.write_text("sesame\\b\t2\tkey\n")
    (checkout / "server" / "placement.py").write_text("sesame = 1\nsesame = 2\n")
    assert complaint(checkout) == ""
    listing.write_text("sesame\\b\t1\tkey\n")
    assert "sesame = 2" in complaint(checkout)


def test_every_private_word_says_what_to_use_instead() -> None:
    assert private_words()
    for _, left, instead in private_words():
        assert int(left) >= 0
        assert instead.strip()


def terms() -> list[tuple[str, str]]:
    """Each term of the glossary with its name in the contract, the settings or the code."""
    found = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", GLOSSARY.read_text(), re.MULTILINE)
    return [(term, name) for term, name in found]


def occurs(word: str, *where: str) -> bool:
    command = ["git", "grep", "--untracked", "-qwiF", "-e", word, "--", *where]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_the_glossary_has_one_meaning_for_each_term() -> None:
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ")]
    named = [term for term, _ in terms()]
    assert len(named) == len(set(named))
    assert len(lines) == len(named) + sum(line.startswith("| term |") for line in lines)


@pytest.mark.parametrize(("term", "name"), terms(), ids=lambda word: word)
def test_every_term_of_the_glossary_is_used(term: str, name: str) -> None:
    assert occurs(name, *NAMED_IN), f"nothing is called {name}"
    pages = ("docs", "README.md", "CONTRIBUTING.md", "contract", ":!docs/reference/glossary.md")
    assert occurs(term, *pages) or occurs(f"{term}s", *pages), f"no page says {term}"
