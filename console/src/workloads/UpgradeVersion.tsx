import { Select } from "@mantine/core";
import type { ActionFormProps } from "../actions/spec";
import type { Instance } from "../api/types";
import { useCatalogEntry } from "../catalog/queries";

export function UpgradeVersion({ resource, values, onChange }: ActionFormProps<Instance>) {
  const entry = useCatalogEntry(resource.project_id, resource.app_slug);
  const others = (entry.data?.versions ?? []).filter(
    (one) => one.version !== resource.version && one.status === "active",
  );
  return (
    <Select
      label="Version"
      required
      description={`The current version is ${resource.version}.`}
      placeholder={others.length ? "Choose a version" : "There is no other version"}
      data={others.map((one) => ({
        value: one.version,
        label: `${one.version} (runtime ${one.runtime_version})`,
      }))}
      value={(values.version as string | undefined) ?? null}
      onChange={(version) => onChange({ ...values, version })}
    />
  );
}
