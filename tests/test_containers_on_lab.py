"""Launchable containers on real hosts, through the public API alone: published, pulled by digest, run, and gone again."""

import urllib.request
from collections.abc import Iterator

import pytest

from gpuaas_containers.controller import Containers
from system_support.container_lab import PORT, ContainerLab, container_lab, web_image
from system_support.echo_lab import at_work
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
ONE, TWO = "1.0.0", "2.0.0"


@pytest.fixture(scope="module")
def whole_lab() -> Iterator[ContainerLab]:
    part("docker-registry")
    with container_lab("launch", hosts=1) as made:
        made.release(ONE, web_image("hello"))
        made.release(TWO, web_image("hello again"))
        yield made


@pytest.fixture
def lab(whole_lab: ContainerLab) -> Iterator[ContainerLab]:
    yield whole_lab
    whole_lab.clear()


def says(lab: ContainerLab, path: str = "greeting") -> str:
    """What the users of the container get, or nothing where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://{lab.hosts[0].address}:{PORT}/{path}", timeout=5) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def test_an_image_is_launched_and_leaves_nothing(lab: ContainerLab) -> None:
    with at_work(Containers(), lab.controller()):
        instance, deploy = lab.launch("first", ONE)
        lab.succeeds(deploy)
        assert says(lab) == "hello"
        lab.torn_down(instance)
        assert says(lab) == ""
