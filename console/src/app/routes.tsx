// Every page, and the file that it is in. Pages are loaded when they are first seen.
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";
import { currentSession } from "../api/session";
import { Shell } from "./shell/Shell";

export type Search = {
  /** The project in view: in every address, so that a link shows others the same thing. */
  project?: string;
};

const root = createRootRouteWithContext<{ queries: QueryClient }>()();

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search): { to?: string } => (typeof search.to === "string" ? { to: search.to } : {}),
  component: lazyRouteComponent(() => import("../login/LoginPage"), "LoginPage"),
});

/** Everything behind the login. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  validateSearch: (search: Record<string, unknown>): Search =>
    typeof search.project === "string" ? { project: search.project } : {},
  search: { middlewares: [retainSearchParams(["project"])] },
  beforeLoad: async ({ context, location }) => {
    const session = await currentSession(context.queries);
    if (!session) throw redirect({ to: "/login", search: { to: location.href } });
    return { session };
  },
  component: Shell,
});

const inShell = { getParentRoute: () => shell } as const;

const pages = [
  createRoute({
    ...inShell,
    path: "/",
    component: lazyRouteComponent(() => import("../home/HomePage"), "HomePage"),
  }),
  createRoute({
    ...inShell,
    path: "/catalog",
    component: lazyRouteComponent(() => import("../catalog/CatalogPage"), "CatalogPage"),
  }),
  createRoute({
    ...inShell,
    path: "/catalog/$slug",
    component: lazyRouteComponent(() => import("../catalog/AppPage"), "AppPage"),
  }),
  createRoute({
    ...inShell,
    path: "/launch/$slug",
    component: lazyRouteComponent(() => import("../launch/LaunchPage"), "LaunchPage"),
  }),
  createRoute({
    ...inShell,
    path: "/workloads",
    component: lazyRouteComponent(() => import("../workloads/WorkloadsPage"), "WorkloadsPage"),
  }),
  createRoute({
    ...inShell,
    path: "/workloads/$instanceId",
    component: lazyRouteComponent(() => import("../workloads/WorkloadPage"), "WorkloadPage"),
  }),
  createRoute({
    ...inShell,
    path: "/operations/$operationId",
    component: lazyRouteComponent(() => import("../operations/OperationPage"), "OperationPage"),
  }),
  createRoute({
    ...inShell,
    path: "/allocations",
    component: lazyRouteComponent(() => import("../allocations/AllocationsPage"), "AllocationsPage"),
  }),
  createRoute({
    ...inShell,
    path: "/allocations/$id",
    component: lazyRouteComponent(() => import("../allocations/AllocationPage"), "AllocationPage"),
  }),
  createRoute({
    ...inShell,
    path: "/credentials",
    component: lazyRouteComponent(() => import("../credentials/CredentialsPage"), "CredentialsPage"),
  }),
  createRoute({
    ...inShell,
    path: "/team",
    component: lazyRouteComponent(() => import("../team/TeamPage"), "TeamPage"),
  }),
  createRoute({
    ...inShell,
    path: "/audit",
    component: lazyRouteComponent(() => import("../audit/AuditPage"), "AuditPage"),
  }),
  createRoute({
    ...inShell,
    path: "/artifacts",
    component: lazyRouteComponent(() => import("../artifacts/ArtifactsPage"), "ArtifactsPage"),
  }),
  createRoute({
    ...inShell,
    path: "/artifacts/$id",
    component: lazyRouteComponent(() => import("../artifacts/ArtifactPage"), "ArtifactPage"),
  }),
  createRoute({
    ...inShell,
    path: "/ops/nodes",
    component: lazyRouteComponent(() => import("../nodes/NodesPage"), "NodesPage"),
  }),
  createRoute({
    ...inShell,
    path: "/ops/nodes/$id",
    component: lazyRouteComponent(() => import("../nodes/NodePage"), "NodePage"),
  }),
  createRoute({
    ...inShell,
    path: "/ops/blocked",
    component: lazyRouteComponent(() => import("../blocked/BlockedPage"), "BlockedPage"),
  }),
  createRoute({
    ...inShell,
    path: "/ops/tenants",
    component: lazyRouteComponent(() => import("../tenants/TenantsPage"), "TenantsPage"),
  }),
  createRoute({
    ...inShell,
    path: "/ops/tenants/$id",
    component: lazyRouteComponent(() => import("../tenants/TenantPage"), "TenantPage"),
  }),
  createRoute({
    ...inShell,
    path: "/ops/platform",
    component: lazyRouteComponent(() => import("../platform/PlatformPage"), "PlatformPage"),
  }),
] as const;

export const routeTree = root.addChildren([login, shell.addChildren(pages)]);
export { shell };
