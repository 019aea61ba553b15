"""SKUs: what can be ordered."""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.capacity import queries, sku_queries
from gpuaas_server.capacity.rows import NewSku, RequestedSku
from gpuaas_server.capacity.schemas import Sku, SkuCreate, SkuUpdate
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.wipe_grades import require_possible_grade


async def sku_list(connection: Connection, page: PageRequest) -> Page[Sku]:
    rows = await sku_queries.sku_list(connection, page)
    return Page[Sku].of([Sku(**fields_of(row)) for row in rows], page)


async def sku_create(tx: Tx, body: SkuCreate) -> Sku:
    counts = sorted(set(body.gpu_counts))
    grade = body.wipe_grade or ("rebooted" if body.shape == "baremetal" else "inspected")
    require_possible_grade(body.shape, grade)
    new = NewSku(
        id=new_id("sku"),
        name=body.name,
        shape=body.shape,
        gpu_model=body.gpu_model,
        gpu_counts=counts,
        price_per_gpu_hour_minor=body.price_per_gpu_hour_minor,
        currency=body.currency,
        offered=body.offered,
        wipe_grade=grade,
        accept_not_examined=sorted(set(body.accept_not_examined)),
        created_at=tx.now,
    )
    row = await sku_queries.sku_insert(tx.connection, new)
    if row is None:
        raise Problem("already_exists", f"There is a SKU named {body.name}.")
    await queries.refit_model(tx.connection, body.gpu_model)
    await record(tx, AuditEntry("sku_create", row.id, details=body.model_dump() | {"wipe_grade": grade}))
    return Sku(**fields_of(row))


async def sku_update(tx: Tx, sku_id: str, body: SkuUpdate, require_match: RequireMatch) -> Sku:
    before = await sku_queries.sku_lock(tx.connection, sku_id)
    if before is None:
        raise not_found("SKU", sku_id)
    require_match(before.generation)
    changes = body.model_dump(exclude_none=True)
    if "gpu_counts" in changes:
        changes["gpu_counts"] = sorted(set(changes["gpu_counts"]))
    if "wipe_grade" in changes:
        require_possible_grade(before.shape, changes["wipe_grade"])
    if "accept_not_examined" in changes:
        changes["accept_not_examined"] = sorted(set(changes["accept_not_examined"]))
    row = await sku_queries.sku_update(tx.connection, sku_id, changes)
    if row is None:
        raise not_found("SKU", sku_id)
    await queries.refit_model(tx.connection, row.gpu_model)
    await record(
        tx,
        AuditEntry(
            "sku_update",
            sku_id,
            details={"before": {name: getattr(before, name) for name in changes}, "after": changes},
        ),
    )
    return Sku(**fields_of(row))


def sku_choose(sku: RequestedSku | None, id_or_name: str, gpu_count: int | None) -> tuple[RequestedSku, int]:
    """Return the offered SKU and the GPU count to use; a SKU with one count needs none named."""
    if sku is None or not sku.offered:
        raise Problem("sku_not_offered", f"There is no SKU {id_or_name} on offer.")
    chosen = gpu_count if gpu_count is not None else sku.gpu_counts[0]
    if gpu_count is None and len(sku.gpu_counts) > 1:
        raise Problem("sku_not_offered", f"Name a gpu_count; {sku.name} is offered with {sku.gpu_counts}.")
    if chosen not in sku.gpu_counts:
        raise Problem(
            "sku_not_offered",
            f"{sku.name} is offered with {sku.gpu_counts} GPUs, not {chosen}.",
            {"gpu_counts": sku.gpu_counts},
        )
    return sku, chosen
