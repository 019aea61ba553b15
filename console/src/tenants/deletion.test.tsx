import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { Deletion } from "../api/types";
import { DeletionBanner } from "./DeletionBanner";
import { DeletionWait } from "./DeletionWaits";
import { stateOfPlace } from "./deletionActions";

afterEach(cleanup);

function shown(deleteAfter: string | null, undo: boolean) {
  render(
    <MantineProvider>
      <DeletionBanner noun="project" deleteAfter={deleteAfter}>
        {undo && <button type="button">Undo deletion</button>}
      </DeletionBanner>
    </MantineProvider>,
  );
}

test("a place that is not to be deleted has no banner", () => {
  shown(null, true);
  expect(screen.queryByRole("alert")).toBeNull();
});

test("the banner says when, and offers the way back to who may take it", () => {
  shown("2026-03-09T12:00:00Z", true);
  expect(screen.getByRole("alert").textContent).toContain("2026");
  expect(screen.getByText("Undo deletion")).toBeTruthy();
});

test("who may not undo it is told whom to ask", () => {
  shown("2026-03-09T12:00:00Z", false);
  expect(screen.getByRole("alert").textContent).toContain("Ask an administrator of the tenant");
});

test("being deleted is said before being disabled", () => {
  expect(stateOfPlace({ disabled: true, delete_after: "2026-03-09T12:00:00Z" })).toBe("deleting");
  expect(stateOfPlace({ disabled: true, delete_after: null })).toBe("disabled");
  expect(stateOfPlace({ disabled: false, delete_after: null })).toBe("active");
});

const DELETION: Deletion = {
  id: "del_1",
  tenant_id: "ten_1",
  tenant_slug: "acme",
  project_id: "prj_1",
  project_slug: "train",
  state: "purging",
  requested_by: "usr_1",
  requested_at: "2026-03-02T12:00:00Z",
  delete_after: "2026-03-09T12:00:00Z",
  removed: {},
  wait: null,
  stuck: false,
};

function waits(deletion: Deletion): string {
  const { container } = render(
    <MantineProvider>
      <DeletionWait deletion={deletion} />
    </MantineProvider>,
  );
  return container.textContent ?? "";
}

test("a deletion that cannot go on says of what it is, since when, why and what to do", () => {
  const wait = {
    stage: "secrets" as const,
    since: "2026-03-09T12:05:00Z",
    why: "2 secret(s) may still be in the external store.",
    next_step: "Make sure that OpenBao can be reached.",
  };
  const text = waits({ ...DELETION, wait, stuck: true });
  for (const part of ["the project acme/train is stuck", "2026", wait.why, wait.next_step, "secrets"])
    expect(text).toContain(part);
  cleanup();
  expect(waits({ ...DELETION, wait, project_id: null })).toContain("the tenant acme waits");
});

test("a deletion that goes on shows nothing", () => {
  expect(waits(DELETION)).not.toContain("acme");
});
