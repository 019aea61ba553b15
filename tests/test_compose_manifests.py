"""What is derived from a compose file without faults is a manifest that the platform takes, whatever the file says."""

import json
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_compose.compose_file import refuse_files
from gpuaas_compose.lint import lint_texts
from gpuaas_compose.reference import reference
from gpuaas_server.catalog.manifest import parse

REPOSITORY = Path(__file__).parents[1]


def test_the_page_about_keys_is_current() -> None:
    committed = (REPOSITORY / "docs/reference/compose-keys.md").read_text()
    assert committed == reference(), "run make contract"


def test_the_file_in_the_how_to_is_a_good_one() -> None:
    page = (REPOSITORY / "docs/howto/publish-a-compose-app.md").read_text()
    (shown,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    digest = f"x@sha256:{'1' * 64}"
    services = {"web": {"image": digest, "ports": ["8080:80"]}, "cache": {"image": digest}, "db": {"image": digest}}
    linted = lint_texts(shown, json.dumps({"services": services}), "compose.yaml", refuse_files)
    assert linted.faults == ()
    parse(json.dumps(linted.manifest))


def test_the_manifest_of_every_field_is_taken() -> None:
    text = (REPOSITORY / "apps/compose/tests/golden/manifest.yaml").read_text()
    assert [component.key for component in parse(text).components] == ["web", "cache", "db"]


OPTIONS = st.fixed_dictionaries(
    {"image": st.sampled_from([f"x@sha256:{digit * 64}" for digit in "123"])},
    optional={
        "command": st.lists(st.text("ab $\"'{}", max_size=6), max_size=4),
        "environment": st.dictionaries(
            st.from_regex(r"\A[A-Z_]{1,8}\Z"), st.text(st.characters(categories=["L", "P"]), max_size=8)
        ),
        "ports": st.lists(st.integers(1000, 1100).map(lambda port: f"{port}:{port - 900}"), max_size=3),
        "expose": st.lists(st.integers(1, 65535), max_size=3),
        "volumes": st.lists(st.sampled_from(["data:/data", "data:/data:ro"]), max_size=1),
        "secrets": st.lists(st.sampled_from(["key", {"source": "key", "target": "/etc/key"}]), max_size=2),
        "user": st.integers(0, 2**31).map(str),
        "read_only": st.booleans(),
        "restart": st.sampled_from(["no", "always", "on-failure"]),
        "shm_size": st.sampled_from(["1", "64m", "2gb"]),
        "mem_limit": st.integers(0, 2**40),
        "stop_grace_period": st.sampled_from(["1s", "1m1s", "11m"]),
        "healthcheck": st.fixed_dictionaries(
            {"test": st.sampled_from(["curl localhost:2000/x", "nc -z web 2000", "true"])}
        ),
    },
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["web", "db", "cache"]), OPTIONS, min_size=1), st.booleans())
def test_a_manifest_of_a_faultless_folder_is_one_that_the_platform_takes(
    services: dict[str, object], spread: bool
) -> None:
    app = 'app: 1\nslug: notes\ndisplay_name: Notes\nversion: 0.1.0\nruntime_version: "1"\n'
    named = {"key": None} if any("secrets" in str(one) for one in services.values()) else {}
    if spread:
        app += "allocations:\n" + "".join(f"  on-{name}: [{name}]\n" for name in services)
    compose = json.dumps({"services": services, "volumes": {"data": None}, "secrets": named})
    linted = lint_texts(app, compose, "compose.yaml", refuse_files)
    if linted.manifest is not None:
        parse(json.dumps(linted.manifest))
