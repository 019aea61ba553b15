"""Job-hours by project: whom a job was for, under which key it is told, and where the next look begins. All pure."""

from gpuaas_sdk.controller import Health
from gpuaas_slurm import health, usage
from gpuaas_slurm.projects import OWNERS, ProjectAccount, accounts_of, owners_of, project_of
from gpuaas_slurm.usage import FROM, OVERLAP_SECONDS, Books, Ended, EndedJob, Told

HOME = ProjectAccount("prj_a", "train", "project-train", True)
OTHER = ProjectAccount("prj_b", "serve", "project-serve", False)
BOOKS = Books("lab", {"project-train": "prj_a", "project-serve": "prj_b"}, "prj_a")


def job(number: str = "7", account: str = "project-serve", ended: int = 2000, gpu_seconds: int = 20) -> EndedJob:
    return EndedJob(number, account, 1000, ended, 40, gpu_seconds)


def test_each_project_has_an_account_by_its_slug() -> None:
    assert [one.account for one in accounts_of([HOME, OTHER])] == ["project-train", "project-serve"]


def test_what_ran_under_an_account_of_peoples_own_is_the_clusters_own_projects() -> None:
    owners = owners_of([HOME, OTHER], None)
    found = [project_of(account, owners, "prj_a") for account in ("vision", "project-train", "project-serve")]
    assert found == ["prj_a", "prj_a", "prj_b"]


def test_the_last_jobs_of_a_project_that_is_not_served_any_more_are_still_its_own() -> None:
    runtime: dict[str, object] = {OWNERS: owners_of([HOME, OTHER], None)}
    assert project_of("project-serve", owners_of([HOME], runtime), "prj_a") == "prj_b"


def test_a_job_is_told_once_for_each_thing_that_is_counted() -> None:
    told = usage.records(BOOKS, [job()])
    assert [(one.source_key, one.quantity, one.project_id) for one in told] == [
        ("lab/7.1000/jobs", 1, "prj_b"),
        ("lab/7.1000/cpu_seconds", 40, "prj_b"),
        ("lab/7.1000/gpu_seconds", 20, "prj_b"),
    ]
    assert [one.metric for one in usage.records(BOOKS, [job(gpu_seconds=0)])] == ["jobs", "cpu_seconds"]


def test_the_next_look_overlaps_the_last_and_goes_on_where_an_answer_was_full() -> None:
    assert usage.next_look(0, Ended((), False, 0)) == 0
    assert usage.next_look(0, Ended((job(ended=9000),), False, 1)) == 9000 - OVERLAP_SECONDS
    assert usage.next_look(0, Ended((job(ended=9000),), True, 0)) == 9000
    assert usage.next_look(9000, Ended((job(ended=9100),), False, 0)) == 9000  # never back


def test_the_runtime_says_where_the_next_look_begins() -> None:
    told = health.status_of({"answers": True, "usage": {}, "ended": {"jobs": [["7", "a", 1, 9000, 4, 0]], "open": 0}})
    assert health.counted({"usage": {}}, told) == {"usage": {}, FROM: 9000 - OVERLAP_SECONDS}
    assert health.counted({"usage": {}, FROM: 9000 - OVERLAP_SECONDS}, told) is None


def test_what_is_known_to_be_recorded_is_not_sent_at_every_look_and_what_is_not_is() -> None:
    told, found = Told(), usage.records(BOOKS, [job()])
    for recorded, sent in ((False, 3), (True, 3), (True, 0)):
        sending = told.fresh("ins_1", found, 0)
        assert len(sending) == sent
        told.sent("ins_1", Health(usage=sending, usage_recorded=recorded))
    assert told.fresh("ins_1", usage.records(BOOKS, [job("8")]), 3000) != []
