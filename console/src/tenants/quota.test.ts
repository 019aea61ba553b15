import { afterEach, expect, test, vi } from "vitest";
import type { Project, Tenant } from "../api/types";
import { projectQuotaSpec, tenantQuotaSpec } from "./actions";

afterEach(() => vi.unstubAllGlobals());

test("the forms of a tenant and of a project offer the limit of streams, which is at least one", () => {
  for (const spec of [tenantQuotaSpec, projectQuotaSpec])
    expect(spec.form).toMatchObject({ properties: { stream_limit: { type: "integer", minimum: 1 } } });
});

test("a limit of streams that was filled in is sent, and an empty one is not", async () => {
  const sent: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    sent.push(await request.json());
    return Response.json({ stream_limit: 8 });
  });
  await tenantQuotaSpec.run({ id: "tnt_1" } as Tenant, { gpu_limit: 4, stream_limit: 8 });
  await projectQuotaSpec.run({ id: "prj_1" } as Project, { gpu_limit: 4, stream_limit: "" });
  expect(sent).toEqual([{ gpu_limit: 4, stream_limit: 8 }, { gpu_limit: 4 }]);
});
