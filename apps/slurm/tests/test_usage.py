"""Usage by project: the project of a job, the keys of its records, and the position of the next check. All pure."""

from gpuaas_sdk.controller import Health
from gpuaas_slurm import health, usage
from gpuaas_slurm.projects import OWNERS, ProjectAccount, accounts_of, owners_of, project_of
from gpuaas_slurm.usage import FROM, OVERLAP_SECONDS, AccountOwners, EndedJob, EndedJobs, ReportedUsage

HOME = ProjectAccount("prj_a", "train", "project-train", True)
OTHER = ProjectAccount("prj_b", "serve", "project-serve", False)
LAB_ACCOUNTS = AccountOwners("lab", {"project-train": "prj_a", "project-serve": "prj_b"}, "prj_a")


def job(number: str = "7", account: str = "project-serve", ended: int = 2000, gpu_seconds: int = 20) -> EndedJob:
    return EndedJob(number, account, 1000, ended, 40, gpu_seconds)


def test_without_accounting_every_job_belongs_to_the_clusters_own_project() -> None:
    runtime: dict[str, object] = {OWNERS: owners_of([HOME, OTHER], None)}
    owners = AccountOwners.of("lab", [HOME, OTHER], runtime, accounting=False)
    [record, *_] = usage.records(owners, [job(account="")])
    assert (record.project_id, record.subject) == ("prj_a", "job 7")
    [record, *_] = usage.records(AccountOwners.of("lab", [HOME, OTHER], runtime, accounting=True), [job()])
    assert (record.project_id, record.subject) == ("prj_b", "job 7 of project-serve")


def test_each_project_has_an_account_by_its_slug() -> None:
    assert [one.account for one in accounts_of([HOME, OTHER])] == ["project-train", "project-serve"]


def test_jobs_under_accounts_of_the_inputs_belong_to_the_clusters_own_project() -> None:
    owners = owners_of([HOME, OTHER], None)
    found = [project_of(account, owners, "prj_a") for account in ("vision", "project-train", "project-serve")]
    assert found == ["prj_a", "prj_a", "prj_b"]


def test_the_last_jobs_of_a_project_that_is_no_longer_served_still_belong_to_it() -> None:
    runtime: dict[str, object] = {OWNERS: owners_of([HOME, OTHER], None)}
    assert project_of("project-serve", owners_of([HOME], runtime), "prj_a") == "prj_b"


def test_a_job_has_one_record_for_each_metric() -> None:
    made = usage.records(LAB_ACCOUNTS, [job()])
    assert [(one.source_key, one.quantity, one.project_id) for one in made] == [
        ("lab/7.1000/jobs", 1, "prj_b"),
        ("lab/7.1000/cpu_seconds", 40, "prj_b"),
        ("lab/7.1000/gpu_seconds", 20, "prj_b"),
    ]
    assert [one.metric for one in usage.records(LAB_ACCOUNTS, [job(gpu_seconds=0)])] == ["jobs", "cpu_seconds"]


def test_the_next_check_overlaps_the_last_and_continues_after_a_full_answer() -> None:
    assert usage.next_position(0, EndedJobs((), False, 0)) == 0
    assert usage.next_position(0, EndedJobs((job(ended=9000),), False, 1)) == 9000 - OVERLAP_SECONDS
    assert usage.next_position(0, EndedJobs((job(ended=9000),), True, 0)) == 9000
    assert usage.next_position(9000, EndedJobs((job(ended=9100),), False, 0)) == 9000  # it never goes back


def test_the_runtime_has_the_position_of_the_next_check() -> None:
    status = health.parse_status(
        {"answers": True, "usage": {}, "ended": {"jobs": [["7", "a", 1, 9000, 4, 0]], "open": 0}}
    )
    assert health.updated_runtime({"usage": {}}, status) == {"usage": {}, FROM: 9000 - OVERLAP_SECONDS}
    assert health.updated_runtime({"usage": {}, FROM: 9000 - OVERLAP_SECONDS}, status) is None
    status = health.parse_status({"answers": True, "usage": None, "ended": {"jobs": [["7", "", 1, 9000, 4, 0]]}})
    assert health.updated_runtime({}, status) == {FROM: 9000 - OVERLAP_SECONDS}


def test_only_records_that_are_not_known_to_be_recorded_are_sent() -> None:
    reported, found = ReportedUsage(), usage.records(LAB_ACCOUNTS, [job()])
    for recorded, sent in ((False, 3), (True, 3), (True, 0)):
        sending = reported.find_new("ins_1", found, 0)
        assert len(sending) == sent
        reported.remember("ins_1", Health(usage=sending, usage_recorded=recorded))
    assert reported.find_new("ins_1", usage.records(LAB_ACCOUNTS, [job("8")]), 3000) != []
