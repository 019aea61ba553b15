// Where new members shall live: chosen among the project's allocations, with the API's own reasons for those that will not do.
import { Select } from "@mantine/core";
import { useEffect } from "react";
import type { ActionFormProps } from "../actions/spec";
import { componentsOf } from "../catalog/manifest";
import { useCatalogEntry } from "../catalog/queries";
import { AllocationPicker } from "../launch/AllocationPicker";
import { usePlacementCandidates } from "../launch/candidates";
import type { Chosen } from "./memberActions";
import { memberName } from "./members";

export function AddTo({ resource, values, onChange }: ActionFormProps<Chosen>) {
  const { instance } = resource;
  const entry = useCatalogEntry(instance.project_id, instance.app_slug, instance.version);
  const components = componentsOf(entry.data?.manifest ?? {});
  const chosen = (values.allocation_ids as string[] | undefined) ?? [];
  const key = (values.component_key as string | undefined) ?? components.at(-1)?.key;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the manifest came
  useEffect(() => {
    if (key && !values.component_key) onChange({ ...values, component_key: key });
  }, [key]);
  const places = usePlacementCandidates(instance.project_id, instance.app_slug, {
    version: instance.version,
    instance_id: instance.id,
    chosen: chosen.map((allocation) => ({ component_key: key ?? "", allocation_id: allocation })),
  });
  return (
    <>
      <Select
        label="Component"
        data={components.map((one) => ({ value: one.key, label: one.display_name ?? one.key }))}
        value={key ?? null}
        allowDeselect={false}
        onChange={(component_key) => onChange({ ...values, component_key, allocation_ids: [] })}
      />
      <AllocationPicker
        label="On these allocations"
        places={places}
        component={key ?? ""}
        chosen={chosen}
        onChange={(allocation_ids) => onChange({ ...values, component_key: key, allocation_ids })}
      />
    </>
  );
}

interface Replacement {
  member_id: string;
  allocation_id: string;
}

export function ReplaceWith({ resource, values, onChange }: ActionFormProps<Chosen>) {
  const { instance, members } = resource;
  const wanted = (values.replacements as Replacement[] | undefined) ?? [];
  const places = usePlacementCandidates(instance.project_id, instance.app_slug, {
    version: instance.version,
    instance_id: instance.id,
    chosen: [],
  });
  const set = (member_id: string, allocation_id: string | undefined) => {
    const others = wanted.filter((one) => one.member_id !== member_id);
    onChange({ ...values, replacements: allocation_id ? [...others, { member_id, allocation_id }] : others });
  };
  return (
    <>
      {members.map((member) => (
        <AllocationPicker
          key={member.id}
          label={`Replace ${memberName(member)} on`}
          places={places}
          component={member.component_key}
          most={1}
          chosen={wanted.filter((one) => one.member_id === member.id).map((one) => one.allocation_id)}
          onChange={([allocation]) => set(member.id, allocation)}
        />
      ))}
    </>
  );
}
