"""Ids sort and never repeat; settings are all described; logs hold no secret."""

import io
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.kernel.ids import is_id, new_id
from gpuaas_server.kernel.logs import JsonFormatter, redact
from gpuaas_server.kernel.sealer import Sealer, load_or_make_master_key
from gpuaas_server.kernel.settings import Settings, settings_reference
from gpuaas_server.kernel.start import StartFailed


def test_ids_of_one_process_sort_in_the_order_they_were_made() -> None:
    made = [new_id("alc") for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_made_by_many_threads_never_repeat() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [one for batch in pool.map(lambda _: [new_id("x") for _ in range(2_000)], range(8)) for one in batch]
    assert len(set(made)) == len(made)


@given(st.text(max_size=40))
def test_only_ids_are_taken_for_ids(text: str) -> None:
    assert not is_id("alc", text)
    assert is_id("alc", new_id("alc"))
    assert not is_id("alc", new_id("prj"))
    assert not is_id("alc", new_id("alc") + "\n")


def test_every_setting_says_what_it_is_for() -> None:
    rows = settings_reference()
    assert len(rows) == len(Settings.model_fields)
    assert all(name.startswith("GPUAAS_") and text.endswith(".") for name, _, text in rows)


def test_a_log_line_is_json_and_strikes_out_secrets() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("test.redaction")
    logger.addHandler(handler)
    logger.propagate = False
    nested = {"api_key": "hunter2", "note": "kept"}
    logger.warning("signing in", extra={"password": "hunter2", "request": nested, "bundle": "hunter2"})
    logger.removeHandler(handler)
    line = json.loads(stream.getvalue())
    assert "hunter2" not in stream.getvalue()
    assert line["request"]["note"] == "kept"
    assert line["message"] == "signing in"


def test_redaction_leaves_the_original_alone() -> None:
    original: dict[str, object] = {"token": "t", "deep": {"secret": "s"}}
    assert redact(original) == {"token": "[redacted]", "deep": {"secret": "[redacted]"}}
    assert original == {"token": "t", "deep": {"secret": "s"}}


def test_what_is_sealed_opens_only_for_its_purpose_and_only_unchanged() -> None:
    sealer = Sealer(bytes(range(32)))
    sealed = sealer.seal(b"secret", "a")
    assert sealer.open(sealed, "a") == b"secret"
    assert b"secret" not in sealed
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for wrong in (lambda: sealer.open(sealed, "b"), lambda: sealer.open(changed, "a")):
        with pytest.raises(InvalidTag):
            wrong()


def test_the_master_key_is_made_once_readable_by_its_owner_only_also_by_many_starters(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "master.key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: load_or_make_master_key(path), range(16)))
    assert len(keys) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["master.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o440])
def test_a_master_key_that_others_could_read_is_taken_from_them_and_that_is_said(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "master.key"
    key = load_or_make_master_key(path)
    assert caplog.records == []
    path.chmod(mode)
    assert load_or_make_master_key(path) == key
    assert path.stat().st_mode & 0o777 == mode & 0o700
    assert "could be read by others" in caplog.text
    caplog.clear()
    load_or_make_master_key(path)
    assert caplog.records == []


def test_a_master_key_whose_mode_cannot_be_corrected_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "master.key"
    load_or_make_master_key(path)
    path.chmod(0o644)

    def on_a_read_only_mount(self: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(self))

    monkeypatch.setattr(Path, "chmod", on_a_read_only_mount)
    with pytest.raises(StartFailed, match="chmod 600"):
        load_or_make_master_key(path)
