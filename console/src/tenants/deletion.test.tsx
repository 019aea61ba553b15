import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { DeletionBanner } from "./DeletionBanner";
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
