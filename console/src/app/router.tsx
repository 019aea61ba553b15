import { createRouter } from "@tanstack/react-router";
import { onSessionEnd } from "../api/client";
import { keys } from "../api/keys";
import { Failed, Loading } from "../parts/Loaded";
import { markNavigated } from "../parts/navigated";
import { NotFound } from "./NotFound";
import { queries } from "./queries";
import { routeTree } from "./routes";

export const router = createRouter({
  routeTree,
  context: { queries },
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <Failed error={error as Error} retry={reset} />,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

// A session can end while pages are open: by age, by a new password, by an administrator.
onSessionEnd(() => {
  if (router.state.location.pathname === "/login") return;
  queries.setQueryData(keys.session, null);
  void router.navigate({ to: "/login", search: { to: router.state.location.href } });
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

router.subscribe("onBeforeNavigate", ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged) markNavigated();
});
