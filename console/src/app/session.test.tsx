import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { keys } from "../api/keys";
import { useSession } from "./session";

afterEach(cleanup);

function Name() {
  return <p>{useSession().user.name}</p>;
}

test("a page whose session ends keeps whom it had until it is left", async () => {
  const client = new QueryClient();
  client.setQueryData(keys.session, { user: { name: "Mia" }, csrf_token: "t", expires_at: "" });
  render(
    <QueryClientProvider client={client}>
      <Name />
    </QueryClientProvider>,
  );
  await act(async () => {
    client.setQueryData(keys.session, null);
    await new Promise((resolve) => setTimeout(resolve, 10));
  });
  expect(screen.getByText("Mia")).toBeTruthy();
});
