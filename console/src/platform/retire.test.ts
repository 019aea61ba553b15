import { expect, test } from "vitest";
import { platformRetireSpec } from "./actions";

function fields(kind: Parameters<typeof platformRetireSpec>[0]): string[] {
  return Object.keys(platformRetireSpec(kind).form?.properties ?? {});
}

test("only a key on which others may still depend can be retired by force", () => {
  expect(fields("tls_ca")).toEqual(["reason", "force"]);
  expect(fields("client_ca")).toEqual(["reason", "force"]);
  expect(fields("task_signing")).toEqual(["reason"]);
});
