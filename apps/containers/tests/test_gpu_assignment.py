"""Which GPUs of an allocation a member gets: its own, the same again, and as many as there should be."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_containers.gpu_assignment import GpuClaim, assign_gpus, claims_on, gpus_of_member
from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_sdk.generated.models import ControllerAllocation

ONE, OTHER = ControllerAllocation(id="alc_one", gpu_count=4), ControllerAllocation(id="alc_other", gpu_count=4)


def manifest(**gpus: object) -> dict[str, object]:
    """Components by name, each with its number of GPUs; a list is for GPUs that it shares."""

    def profile(wanted: object) -> dict[str, object]:
        shared = isinstance(wanted, list)
        return {"image": "sha256:1", "gpus": wanted[0] if isinstance(wanted, list) else wanted, "share_gpus": shared}

    return {"components": [{"key": key, "runtime_profile": profile(wanted)} for key, wanted in gpus.items()]}


def member(key: str, ordinal: int, allocation: ControllerAllocation = ONE, **detail: object) -> ControllerMember:
    return ControllerMember(
        id=f"{key}-{ordinal}", component_key=key, ordinal=ordinal, allocation=allocation, adapter_detail=detail
    )


def gpus(
    which: ControllerMember, members: list[ControllerMember], document: dict[str, object], there: int = 4
) -> object:
    claims = claims_on("alc_one", members, document, {})
    return gpus_of_member(which.id, claims, tuple(range(there)))


@pytest.mark.parametrize(
    ("wanted", "there", "given_to"),
    [(0, 4, 0), (2, 4, 2), ("all", 4, 4), ("all", 0, None), ("all", 3, None), (2, 1, None)],
)
def test_gpus_are_given_or_missed(wanted: object, there: int, given_to: int | None) -> None:
    alone = member("web", 0)
    if given_to is None:
        with pytest.raises(Failed) as missed:
            gpus(alone, [alone], manifest(web=wanted), there)
        assert missed.value.failure.code == "gpu_missing"
    else:
        assert gpus(alone, [alone], manifest(web=wanted), there) == tuple(range(given_to))


def test_a_container_gets_no_more_gpus_than_its_allocation_has() -> None:
    alone = member("web", 0)
    assert gpus(alone, [alone], manifest(web="all"), there=8) == (0, 1, 2, 3)


def test_two_containers_of_a_host_have_gpus_of_their_own_and_those_of_another_host_do_not_count() -> None:
    web, engine, far = member("web", 0), member("engine", 1), member("engine", 2, OTHER)
    members, document = [web, engine, far], manifest(web=1, engine=2)
    assert (gpus(web, members, document), gpus(engine, members, document)) == ((0,), (1, 2))


def test_a_member_keeps_its_gpus_when_others_come_and_go() -> None:
    document, engine = manifest(web=1, engine=2), member("engine", 1, gpus=[1, 2])
    late = member("web", 2)
    assert gpus(engine, [engine, late], document) == (1, 2)
    assert gpus(late, [engine, late], document) == (0,)
    assert gpus(engine, [engine], manifest(web=1, engine=3)) == (0, 1, 2), "it wants another number now"


def test_who_finds_too_few_is_told_who_has_them() -> None:
    web, engine = member("web", 0), member("engine", 1)
    with pytest.raises(Failed) as refused:
        gpus(engine, [web, engine], manifest(web=1, engine="all"))
    failure = refused.value.failure
    assert (failure.code, failure.message) == (
        "gpus_taken",
        "engine/1 needs 4 GPUs of the 4 of its allocation, and web/0 has 1.",
    )
    assert "share_gpus" in failure.next_step


def test_those_that_share_have_the_same_and_none_of_the_others() -> None:
    members = [member("web", 0), member("engine", 1), member("alone", 2)]
    document = manifest(web=[2], engine=[2], alone=2)
    assert [gpus(one, members, document) for one in members] == [(2, 3), (2, 3), (0, 1)]


def test_a_member_that_joins_gets_none_that_running_members_share() -> None:
    web, late = member("web", 0, gpus=[0]), member("late", 1)
    document = manifest(web=[1], late=1)
    assert (gpus(web, [web, late], document), gpus(late, [web, late], document)) == ((0,), (1,))
    with pytest.raises(Failed) as refused:
        gpus(late, [web, late], document, there=1)
    assert refused.value.failure.message == "late/1 needs 1 GPUs of the 1 of its allocation, and web/0 has 1."


_CLAIMS = st.lists(
    st.builds(
        GpuClaim,
        member=st.uuids().map(str),
        label=st.just("one"),
        count=st.integers(1, 4),
        shares=st.booleans(),
        before=st.lists(st.integers(0, 9), max_size=4).map(tuple),
    ),
    max_size=6,
)


@given(_CLAIMS, st.integers(0, 8))
def test_no_gpu_is_given_twice_and_each_gets_as_many_as_it_wants_or_none(claims: list[GpuClaim], count: int) -> None:
    there = tuple(range(count))
    given_to = assign_gpus(claims, there)
    known = {one.member: one for one in claims}
    for name, numbers in given_to.items():
        assert len(set(numbers)) == known[name].count
        assert set(numbers) <= set(there)
    for one, other in combinations(given_to, 2):
        if not (known[one].shares and known[other].shares):
            assert not set(given_to[one]) & set(given_to[other])
