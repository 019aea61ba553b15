"""The boundary in words: the contract and the platform behind it name no app, and tools/words sees it when they do."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERIC = ("contract", "server", "agent")


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
    shutil.copy(ROOT / "tools" / "words", tmp_path / "tools")
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
