import { QueryClient } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";
import { keys } from "../api/keys";
import { patchLists } from "./patch";

afterEach(() => vi.unstubAllGlobals());

test("an answer that was overtaken by a later one does not put the older state back", async () => {
  const waiting: ((state: string) => void)[] = [];
  vi.stubGlobal(
    "fetch",
    () => new Promise((resolve) => waiting.push((state) => resolve(Response.json({ id: "alc_1", state })))),
  );
  const client = new QueryClient();
  const key = keys.list("allocations", "prj_1");
  client.setQueryData(key, { pages: [{ items: [{ id: "alc_1", state: "requested" }] }], pageParams: [] });
  const first = patchLists(client, "allocations", "prj_1", "alc_1");
  const second = patchLists(client, "allocations", "prj_1", "alc_1");
  await vi.waitFor(() => expect(waiting).toHaveLength(2));
  waiting[1]?.("active");
  await second;
  waiting[0]?.("provisioning");
  await first;
  expect(client.getQueryData(key)).toMatchObject({ pages: [{ items: [{ state: "active" }] }] });
});
