"""What people read: tables within 100 columns, exit codes, times, the reference."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer

from gpuaas_cli.allocation_views import COLUMNS, print_timeline
from gpuaas_cli.commands.receipts import receipt_columns
from gpuaas_cli.failures import CommandFailed, detail_lines, exit_code_of, print_error
from gpuaas_cli.field_names import FieldNames
from gpuaas_cli.instance_views import member_columns, print_instance
from gpuaas_cli.main import app
from gpuaas_cli.member_names import MemberNames
from gpuaas_cli.operation_views import print_operation
from gpuaas_cli.options import expiry, past
from gpuaas_cli.output import age, cell, money, print_json, print_list
from gpuaas_cli.reference import reference
from gpuaas_cli.references import only_one
from gpuaas_cli.session import Session
from gpuaas_sdk import (
    OPERATION_KINDS,
    Allocation,
    GpuaasError,
    HealthReason,
    Instance,
    InstanceMember,
    Operation,
    OperationProgress,
    Problem,
    ReceiptLine,
    SshAddress,
    Tenant,
    Timeline,
    TimelineEntry,
)


def allocation(number: int) -> Allocation:
    return Allocation(
        id=f"alc_01m7f6xnrfe0brcs8qc0d8gk{number:02}",
        state="release_failed",
        name=f"a-rather-long-name-of-a-run-{number}",
        sku_name="h100-slice",
        gpu_count=8,
        ssh=SshAddress(address="fd00:1234:5678:9abc::1", port=20022, user="gpu"),
        created_at=datetime.now(UTC),
    )


def test_tables_fit_into_100_columns(configuration_home: Any, capsys: pytest.CaptureFixture[str]) -> None:
    print_list(Session(), [allocation(1), allocation(2)], COLUMNS)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert any("alc_01m7f6xnrfe0brcs8qc0d8gk01" in line for line in lines)


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("not_found", 404, 3),
        ("forbidden", 403, 4),
        ("token_expired", 401, 4),
        ("account_locked", 423, 4),
        ("no_capacity", 409, 5),
        ("sku_not_offered", 422, 5),
        ("precondition_failed", 412, 5),
        ("invalid_request", 422, 2),
        ("deadline_exceeded", 504, 6),
        ("internal", 500, 1),
        ("unreachable", 0, 1),
    ],
)
def test_exit_codes_follow_the_documented_table(code: str, status: int, expected: int) -> None:
    assert exit_code_of(GpuaasError(Problem(code=code, status=status, detail="x"))) == expected


def test_a_name_that_fits_several_is_refused_with_their_ids() -> None:
    twins = [Tenant(id="tnt_1", slug="twin"), Tenant(id="tnt_2", slug="twin")]
    with pytest.raises(CommandFailed) as refused:
        only_one("tenant", "twin", twins, lambda one: (one.slug,))
    assert refused.value.exit_code == 2
    assert "tnt_1, tnt_2" in refused.value.next_step


def test_nothing_is_printed_as_a_program_would_write_it() -> None:
    refusal = {"code": "component_count_low", "message": "node has 0 members.", "allocation_id": None}
    assert list(detail_lines({"refusals": [refusal]})) == ["component_count_low, node has 0 members."]
    assert cell({"shapes": ["baremetal", "gpu_slice"], "gpus": 1}).plain == "shapes=baremetal|gpu_slice, gpus=1"


def test_a_refusal_is_said_once_and_in_the_words_of_a_terminal(
    configuration_home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = {"code": "component_count_low", "message": "node has 0 members.", "allocation_id": None}
    error = GpuaasError(
        Problem(
            code="placement_refused",
            status=422,
            detail="node has 0 members.",
            next_step="Correct every refusal in details.refusals, or choose other allocations.",
            details={"refusals": [refusal], "count": 1},
        )
    )
    print_error(Session().err, error, as_json=False)
    text = capsys.readouterr().err
    assert text.count("node has 0 members.") == 1
    assert "component_count_low" in text
    assert "Next:  Correct every refusal named here, or choose other allocations." in text
    assert "details." not in text
    assert "count" not in text.replace("component_count_low", "")
    print_error(Session().err, error, as_json=True)
    assert "details.refusals" in capsys.readouterr().err, "a program finds it there"


@pytest.mark.parametrize(("status", "shown"), [("running", True), ("failed", False), ("succeeded", False)])
def test_how_far_it_is_is_said_only_of_what_goes_on(
    configuration_home: Any, capsys: pytest.CaptureFixture[str], status: str, shown: bool
) -> None:
    progress = OperationProgress(percent=10, message="half a worker")
    print_operation(Session(), Operation(id="op_1", kind="deploy", status=status, progress=progress))
    assert ("10 %" in capsys.readouterr().out) is shown


def test_members_name_their_allocations_as_people_do(
    configuration_home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    members = [InstanceMember(id=f"mem_{n}", component_key="node", ordinal=n, allocation_id=f"alc_{n}") for n in (1, 2)]
    print_list(Session(), members, member_columns({"alc_1": "box-1"}))
    _, first, second = capsys.readouterr().out.splitlines()
    assert ("box-1" in first, "alc_1" in first, "alc_2" in second) == (True, False, True)


class NamedMembers(MemberNames):
    def of(self, project_id: str, instance_id: str, member_id: str) -> str:
        return {"mem_1": "worker/1", "mem_2": "worker/2"}[member_id]


def test_receipts_show_their_whole_id_and_the_name_of_the_member(
    configuration_home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    own = "rcp_01m7f6xnrfe0brcs8qc0d8gk01"
    line = ReceiptLine(
        id=own,
        member_id="mem_1",
        status="not_verified",
        created_at=datetime.now(UTC),
        settled_at=datetime.now(UTC),
    )
    session = Session()
    print_list(session, [line], receipt_columns(NamedMembers(session)))
    _, shown = capsys.readouterr().out.splitlines()
    assert len(shown.rstrip()) <= 100
    assert (own in shown, "worker/1" in shown, "mem_1" in shown) == (True, True, False)


def test_health_reasons_and_drift_name_members_as_people_do(
    configuration_home: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuaas_cli.instance_views.MemberNames", NamedMembers)
    reasons = [
        HealthReason(code="member_degraded", message="It is slow.", member_ids=["mem_1", "mem_2"]),
        HealthReason(code="member_failed", message="It ended.", member_id="mem_2"),
    ]
    print_instance(Session(), Instance(id="ins_1", health_reasons=reasons))
    shown = capsys.readouterr().out
    assert "It is slow. (member_degraded) worker/1, worker/2" in shown
    assert "It ended. (member_failed) worker/2" in shown
    assert "mem_" not in shown


def test_an_expiry_is_a_span_or_a_time() -> None:
    soon = expiry("90m")
    assert soon is not None
    assert timedelta(minutes=89) < soon - datetime.now(UTC) < timedelta(minutes=91)
    assert expiry("2030-01-31T12:00+00:00") == datetime(2030, 1, 31, 12, tzinfo=UTC)
    with pytest.raises(typer.BadParameter):
        expiry("next week")


def test_a_span_that_has_gone_by_leads_back() -> None:
    then = past("90m")
    assert then is not None
    assert timedelta(minutes=89) < datetime.now(UTC) - then < timedelta(minutes=91)
    assert past("2020-01-31T12:00+00:00") == datetime(2020, 1, 31, 12, tzinfo=UTC)


def test_ages_and_prices_are_short() -> None:
    assert age(datetime.now(UTC) - timedelta(hours=30)) == "1d"
    assert money(250, "USD") == "2.50 USD"


def test_every_kind_of_operation_has_a_command_that_says_what_the_contract_says() -> None:
    root: Any = typer.main.get_command(app)
    instances = root.commands["instances"].commands
    for kind in OPERATION_KINDS.values():
        commands = instances if kind.target == "instance" else instances["members"].commands
        command = commands["redeploy" if kind.name == "deploy" else kind.name]
        assert command.help == kind.description
        options = {one.name for one in command.params}
        assert ("yes" in options) == (kind.confirmation is not None)
        assert ("force" in options) == kind.may_remove_required_members


def test_the_reference_names_every_command_and_exit_code() -> None:
    text = reference()
    for command in ("login", "up", "allocations ssh", "nodes drain", "service-accounts keys rotate", "config set"):
        assert f"`gpuaas {command}`" in text
    assert "| 130 | interrupted (Ctrl-C) |" in text
    assert text == reference()


def names_of(*path: str) -> FieldNames:
    command: Any = typer.main.get_command(app)
    for word in path:
        command = command.commands[word]
    return FieldNames.of(command)


@pytest.mark.parametrize(
    ("path", "said", "spoken"),
    [
        ("allocations create", "body.gpu_count: Input should be at most 64.", "--gpus: Input should be at most 64."),
        (
            "allocations create",
            "Name a gpu_count; x is offered with [1, 2].",
            "Name a --gpus; x is offered with [1, 2].",
        ),
        ("allocations create", "body.ssh_key_ids.0: no such key", "--ssh-key: no such key"),
        ("allocations create", "body.name: too long", "--name: too long"),
        ("skus create", "body.price_per_gpu_hour_minor: too large", "--price: too large"),
        ("skus create", "body.gpu_model: too long", "--gpu-model: too long"),
        ("quota set", "body.gpu_limit: too large", "LIMIT: too large"),
        ("audit list", "query.correlation_id: bad", "--correlation: bad"),
        ("nodes list", "body.gpu_count: not one of ours", "body.gpu_count: not one of ours"),
    ],
)
def test_a_message_about_a_field_names_the_option_that_sets_it(path: str, said: str, spoken: str) -> None:
    assert names_of(*path.split()).translate(said) == spoken


def test_people_read_options_and_programs_read_fields(
    configuration_home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = [{"where": "body.gpu_count", "message": "too large"}]
    error = GpuaasError(
        Problem(code="invalid_request", status=422, detail="body.gpu_count: too large", details={"fields": fields})
    )
    for as_json in (False, True):
        print_error(Session().err, error, as_json, names_of("allocations", "create"))
        text = capsys.readouterr().err
        assert ("--gpus" in text, "gpu_count" in text) == (not as_json, as_json)


@pytest.mark.parametrize(
    ("clean", "after", "verdict"),
    [
        (True, "released", "wipe verified"),
        (False, "release_failed", "wipe NOT verified"),
        (True, "release_failed", "wipe NOT verified"),  # clean, but compared with another baseline
    ],
)
def test_the_timeline_shows_the_verdict_of_the_last_verification(
    configuration_home: Any, capsys: pytest.CaptureFixture[str], clean: bool, after: str, verdict: str
) -> None:
    moment = datetime.now(UTC)
    entries = [
        TimelineEntry(at=moment, kind="state", name="releasing", status="left"),
        TimelineEntry(at=moment, kind="phase", name="verify_wipe", status="succeeded"),
        TimelineEntry(at=moment, kind="state", name=after, status="current"),
    ]
    print_timeline(Session(), Timeline(allocation_id="alc_1", items=entries, wipe_evidence={"clean": clean}))
    [line] = [line for line in capsys.readouterr().out.splitlines() if "verify_wipe" in line]
    assert line.rstrip().endswith(verdict)


def test_escape_sequences_of_a_host_never_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session()
    hostile = Allocation(id="alc_1", state="active", name="\x1b[2J\x9b1m\u202eexe")
    print_list(session, [hostile], COLUMNS)
    session.say("\x1b]0;owned\x07")
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x9b\x07\u202e")
    assert "�[2J" in shown


def test_json_keeps_what_a_host_said_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    content = {"message": "\x1b[2J\x9b1m\u202eGrüße\ntwo ✓"}
    print_json(Session(), content)
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x9b\u202e")
    assert json.loads(shown) == content
