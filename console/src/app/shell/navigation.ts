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
  { to: "/credentials", label: "Credentials", icon: "key", words: "ssh keys certificates password" },
  { to: "/team", label: "Team", icon: "users", words: "members roles service accounts users" },
  { to: "/audit", label: "Audit", icon: "audit", words: "who did what trail" },
];

export const OPERATOR_PLACES: Place[] = [];
