import { expect, test } from "vitest";
import type { Listing } from "../api/pages";
import type { Allocation } from "../api/types";
import { ofSku } from "./skuFilter";

const listing = (names: string[], more: boolean): Listing<Allocation> => ({
  rows: names.map((sku_name) => ({ sku_name }) as Allocation),
  more,
  loadingMore: false,
  loadMore: () => undefined,
  pending: false,
  error: null,
  retry: () => undefined,
});

test("without a choice the list is as it was", () => {
  const all = listing(["a", "b"], false);
  expect(ofSku(all, null)).toBe(all);
});

test("nothing found on the first page is not yet nothing", () => {
  expect(ofSku(listing(["a"], true), "b").pending).toBe(true);
  expect(ofSku(listing(["a"], false), "b")).toMatchObject({ rows: [], pending: false });
});
