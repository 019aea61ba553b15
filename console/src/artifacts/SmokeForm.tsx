import { Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import type { ActionFormProps } from "../actions/spec";
import type { AppVersion } from "../api/types";
import { useProject } from "../app/project";
import { componentsOf, countName, inputsOf, type Manifest, placementName } from "../catalog/manifest";
import type { Errors } from "../forms/check";
import { SchemaForm } from "../forms/SchemaForm";
import { initialOf, type Values } from "../forms/schema";
import { AllocationPicker } from "../launch/AllocationPicker";
import { asksForArtifacts, withArtifacts } from "../launch/artifactInputs";
import { type Places, usePlacementCandidates } from "../launch/candidates";
import { LaunchBlocked } from "../launch/LaunchBlocked";
import { placementBlock, withNames } from "../launch/launchBlocks";
import { type Chosen, missingPlacements, placementsOf } from "../launch/placement";
import { Failed, Loaded } from "../parts/Loaded";
import { useArtifacts, useVersion } from "./queries";
import { nextDefault, type SmokeValues } from "./smokeLaunch";

/** Where the members of a smoke launch run, and its inputs. It begins with the first allocations that fit. */
export function SmokeForm(props: ActionFormProps<AppVersion>) {
  const { resource, values, onChange } = props;
  const version = useVersion(resource.project_id, resource.app_id, resource.id);
  const manifest = version.data?.manifest as Manifest | undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the manifest came
  useEffect(() => {
    if (manifest && !values.manifest)
      onChange({ manifest, chosen: {}, inputs: initialOf(inputsOf(manifest)) ?? {} });
  }, [manifest]);
  return <Loaded query={version}>{() => (values.manifest ? <Fields {...props} /> : null)}</Loaded>;
}

function Fields({ resource, values, onChange, errors }: ActionFormProps<AppVersion>) {
  const project = useProject();
  const { manifest = {}, chosen = {}, inputs = {} } = values as SmokeValues;
  const components = componentsOf(manifest);
  const asked = inputsOf(manifest);
  const artifacts = useArtifacts(resource.project_id, "active", asksForArtifacts(asked));
  const schema = withArtifacts(asked, artifacts.rows);
  const places = usePlacementCandidates(resource.project_id, resource.slug, {
    version: resource.version,
    chosen: placementsOf(chosen),
  });
  const touched = useRef(false);
  const set = (next: SmokeValues) => onChange({ ...values, ...next });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer of the API leads to the next default
  useEffect(() => {
    if (touched.current || !places.data || places.isPlaceholderData) return;
    const next = nextDefault(components, chosen, places.data.items);
    if (next) set({ chosen: next });
  }, [places.data, places.isPlaceholderData]);
  const choose = (key: string, ids: string[]) => {
    touched.current = true;
    set({ chosen: { ...chosen, [key]: ids } });
  };
  if (places.error && !places.data)
    return <Failed error={places.error} retry={() => void places.refetch()} />;
  const block = placementsOf(chosen).length === 0 ? placementBlock(components, places.data, project) : null;
  return (
    <>
      {block && <LaunchBlocked block={block} />}
      {components.map((one) => (
        <AllocationPicker
          key={one.key}
          label={`${one.display_name ?? one.key}: ${countName(one)}, ${placementName(one.placement)}`}
          places={places}
          component={one.key}
          most={one.max}
          chosen={chosen[one.key] ?? []}
          onChange={(ids) => choose(one.key, ids)}
          error={errors[`places.${one.key}`]}
        />
      ))}
      <Refusals components={components} chosen={chosen} places={places.data} />
      {Object.keys(schema.properties ?? {}).length > 0 && (
        <SchemaForm
          schema={schema}
          values={inputs}
          onChange={(next: Values) => set({ inputs: next })}
          errors={inputErrors(errors)}
        />
      )}
    </>
  );
}

interface RefusalsProps {
  components: Parameters<typeof missingPlacements>[0];
  chosen: Chosen;
  places: Places | undefined;
}

/** What the API has against the choice as a whole; before it is complete, each list says what it lacks. */
function Refusals({ components, chosen, places }: RefusalsProps) {
  if (missingPlacements(components, chosen).length > 0) return null;
  return (places?.refusals ?? []).map(({ message }) => (
    <Text key={message} size="sm" c="var(--bad-text)" role="alert">
      {withNames(message, places?.items ?? [])}
    </Text>
  ));
}

function inputErrors(errors: Errors): Errors {
  const prefix = "inputs.";
  return Object.fromEntries(
    Object.entries(errors)
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, message]) => [path.slice(prefix.length), message]),
  );
}
