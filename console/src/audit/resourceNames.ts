// Names of what audit records are about. The records have ids only; the lists that other pages show have the names.
import { useMemo } from "react";
import { useAllocations } from "../allocations/queries";
import type { AuditRecord, Project } from "../api/types";
import { useArtifacts } from "../artifacts/queries";
import { useCredentials } from "../credentials/queries";
import { labelOf } from "../parts/states";
import { useProjectMembers, useServiceAccounts } from "../team/queries";
import { useInstances } from "../workloads/queries";

export type ResourceNames = ReadonlyMap<string, string>;

/** By id, from the newest of each list of the project. What is older or deleted has none, and is shown by its id. */
export function useResourceNames(project: Project): ResourceNames {
  const instances = useInstances(project.id).rows;
  const allocations = useAllocations(project.id).rows;
  const artifacts = useArtifacts(project.id).rows;
  const credentials = useCredentials(project.id).rows;
  const accounts = useServiceAccounts(project.id).rows;
  const members = useProjectMembers(project.id).rows;
  return useMemo(
    () =>
      new Map(
        [
          project,
          ...instances,
          ...allocations,
          ...artifacts,
          ...credentials,
          ...accounts,
          ...members,
        ].flatMap((one) => (one.name ? [[one.id, one.name] as const] : [])),
      ),
    [project, instances, allocations, artifacts, credentials, accounts, members],
  );
}

/** The name of what the record is about: from the lists, or from the record's own details. Undefined: only its id is known. */
export function recordName({ resource_id, details }: AuditRecord, names: ResourceNames): string | undefined {
  const known = names.get(resource_id ?? "");
  if (known) return known;
  const text = (key: string) => (typeof details[key] === "string" ? details[key] : "");
  const other = (key: string) => names.get(text(key));
  switch (resource_id?.split("_")[0]) {
    case "apv":
      return text("slug") ? `${text("slug")} ${text("version")}`.trim() : undefined;
    case "op":
      return text("kind") && other("instance") ? `${labelOf(text("kind"))} ${other("instance")}` : undefined;
    case "grt":
      return other("on") && `SSH grant on ${other("on")}`;
    case "pub":
      return text("name") || undefined;
    default:
      return undefined;
  }
}
