// What the navigation and the search offer.
import type { IconName } from "../../parts/Icon";

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  /** Other words that people search it by. */
  words?: string;
}

export const PROJECT_PLACES: Place[] = [
  { to: "/", label: "Overview", icon: "home", words: "home attention cost" },
  { to: "/catalog", label: "Catalog", icon: "apps", words: "apps launch" },
  { to: "/workloads", label: "Workloads", icon: "play", words: "instances clusters" },
  { to: "/allocations", label: "Allocations", icon: "cpu", words: "gpus hosts slices" },
  { to: "/artifacts", label: "Artifacts", icon: "box", words: "images blobs publish versions" },
  { to: "/credentials", label: "Credentials", icon: "key", words: "ssh keys certificates password" },
  { to: "/team", label: "Team", icon: "users", words: "members roles service accounts users" },
  { to: "/audit", label: "Audit", icon: "audit", words: "who did what trail" },
];

export const OPERATOR_PLACES: Place[] = [
  { to: "/ops/nodes", label: "Nodes", icon: "nodes", words: "hosts fleet slots gpus enrol cordon" },
  { to: "/ops/blocked", label: "Blocked", icon: "alert", words: "stuck cleanup release failed" },
  { to: "/ops/tenants", label: "Tenants", icon: "tenants", words: "projects quotas entitlements" },
  { to: "/ops/platform", label: "Platform", icon: "key", words: "skus prices users keys apps" },
];
