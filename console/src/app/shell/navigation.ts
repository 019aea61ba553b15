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
];

export const OPERATOR_PLACES: Place[] = [];
