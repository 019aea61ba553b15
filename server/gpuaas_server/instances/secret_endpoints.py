"""The secrets of an instance over HTTP: for people, and for the controller that works on it."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.instances import instance_secrets, secret_delivery
from gpuaas_server.instances.secret_delivery import SecretReader
from gpuaas_server.instances.secret_schemas import (
    InstanceSecretChanged,
    InstanceSecretRotate,
    InstanceSecrets,
    OperationSecrets,
    OperationSecretsRead,
    SecretName,
    SecretValue,
)
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import InstanceId, OperationId, ProjectId

router = api_router(tags=["instances"])
PATH = "/projects/{project_id}/instances/{instance_id}/secrets"


@router.get(PATH, response_model=InstanceSecrets, responses=problem_responses())
async def instance_secret_list(
    project_id: ProjectId, instance_id: InstanceId, call: Annotated[Call, admitted("instance_secret_list")]
) -> Response:
    """List the secrets of an instance: names, versions and times. Values are never shown."""
    return await call.read(lambda c: instance_secrets.instance_secret_list(c, call.caller, instance_id))


@router.put(
    f"{PATH}/{{secret_name}}",
    response_model=InstanceSecretChanged,
    responses=problem_responses("conflict", "secret_invalid", "secret_store_unavailable"),
)
async def instance_secret_set(
    project_id: ProjectId,
    instance_id: InstanceId,
    secret_name: SecretName,
    body: SecretValue,
    call: Annotated[Call, admitted_change("instance_secret_set")],
) -> Response:
    """Give a secret its value. It is sealed at once and never shown; a reconcile brings it to the members."""
    platform, scope = call.platform, call.admission.scope
    given = await instance_secrets.prepare_next(platform, scope, call.caller, instance_id, secret_name, body)
    try:
        answer = await call.change(lambda tx: instance_secrets.instance_secret_set(tx, call.caller, instance_id, given))
    except Problem:
        await instance_secrets.discard(platform, [given])
        raise
    if idempotency.is_replay(answer):  # the first request's value is the value
        await instance_secrets.discard(platform, [given])
    return answer


@router.post(
    f"{PATH}/{{secret_name}}/rotate", response_model=InstanceSecretChanged, responses=problem_responses("conflict")
)
async def instance_secret_rotate(
    project_id: ProjectId,
    instance_id: InstanceId,
    secret_name: SecretName,
    body: InstanceSecretRotate,
    call: Annotated[Call, admitted_change("instance_secret_rotate")],
) -> Response:
    """Have a generated secret made anew. A reconcile makes it and brings it to the members."""
    return await call.change(
        lambda tx: instance_secrets.instance_secret_rotate(tx, call.caller, instance_id, secret_name, body.reason)
    )


@router.post(
    "/projects/{project_id}/operations/{operation_id}/secrets",
    response_model=OperationSecrets,
    responses=problem_responses("lease_lost", "not_the_controller", "secret_missing", "secret_store_unavailable"),
)
async def operation_secret_read(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationSecretsRead,
    call: Annotated[Call, admitted_change("operation_secret_read")],
) -> Response:
    """Read the secrets of the operation's instance, sealed to you. Generated ones are made at the first read; in a rotation,
    those that it names are made anew.
    """
    reader = SecretReader(call.platform, call.admission.scope, call.actor, call.caller, operation_id, body)
    await secret_delivery.generate_missing_secrets(reader)
    sealed = await secret_delivery.seal_values(reader)
    return await call.change(lambda tx: secret_delivery.operation_secret_read(tx, reader, sealed))
