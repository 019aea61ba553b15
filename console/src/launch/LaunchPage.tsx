import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import { api, body } from "../api/client";
import { fieldErrors } from "../api/problem";
import type { CatalogEntry, Instance, Project } from "../api/types";
import { useProject } from "../app/project";
import { useArtifacts } from "../artifacts/queries";
import { AppLoaded } from "../catalog/AppLoaded";
import { channelText, hasChannels } from "../catalog/channelText";
import {
  componentsOf,
  countName,
  demands,
  inputsOf,
  type Manifest,
  placementName,
  secretsOf,
} from "../catalog/manifest";
import { useCatalogEntry } from "../catalog/queries";
import { check, type Errors } from "../forms/check";
import { SchemaForm } from "../forms/SchemaForm";
import { initialOf, sentOf, type Values } from "../forms/schema";
import { notify } from "../parts/notify";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { explained, ProblemPanel } from "../parts/ProblemPanel";
import { AllocationPicker } from "./AllocationPicker";
import { asksForArtifacts, withArtifacts } from "./artifactInputs";
import { usePlacementCandidates } from "./candidates";
import { LaunchBlocked } from "./LaunchBlocked";
import { type LaunchBlock, launchBlock, placementBlock } from "./launchBlocks";
import { type Chosen, missingPlacements, placementsOf } from "./placement";
import { Review } from "./Review";

export function LaunchPage() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const project = useProject();
  const [version, setVersion] = useState<string>();
  // Whoever has begun to fill in the form keeps it, also while the controller is unavailable for a moment.
  const begun = useRef(false);
  const query = useCatalogEntry(project.id, slug, version);
  return (
    <AppLoaded slug={slug} title="Launch" query={query}>
      {(entry) => {
        const block = launchBlock(entry, project);
        begun.current ||= block === null;
        return begun.current ? (
          <Form
            key={`${project.id} ${entry.shown.version}`}
            project={project}
            entry={entry}
            block={block}
            onVersion={setVersion}
          />
        ) : (
          block && <NotNow entry={entry} block={block} />
        );
      }}
    </AppLoaded>
  );
}

function Head({ entry }: { entry: CatalogEntry }) {
  return (
    <PageHead
      title={`Launch ${entry.display_name}`}
      lead={entry.description}
      above={
        <>
          <PageLink to="/catalog">Catalog</PageLink> /{" "}
          <PageLink to={`/catalog/${entry.slug}`}>{entry.display_name}</PageLink>
        </>
      }
    />
  );
}

function NotNow({ entry, block }: { entry: CatalogEntry; block: LaunchBlock }) {
  return (
    <>
      <Head entry={entry} />
      <LaunchBlocked block={block} />
    </>
  );
}

interface FormProps {
  project: Project;
  entry: CatalogEntry;
  /** Why it cannot be launched any more. */
  block: LaunchBlock | null;
  onVersion: (version: string) => void;
}

function Form({ project, entry, block, onVersion }: FormProps) {
  const navigate = useNavigate();
  const manifest = entry.manifest as Manifest;
  const asked = inputsOf(manifest);
  const images = useArtifacts(project.id, "active", asksForArtifacts(asked));
  const inputs = withArtifacts(asked, images.rows);
  const [name, setName] = useState("");
  const [values, setValues] = useState<Values>(() => (initialOf(inputs) ?? {}) as Values);
  const [chosen, setChosen] = useState<Chosen>({});
  const wanted = secretsOf(manifest);
  const [given, setGiven] = useState<Values>({});
  const [policy, setPolicy] = useState<Instance["reconcile_policy"]>("notify");
  const [errors, setErrors] = useState<Errors>({});
  const version = entry.shown.version;
  const intent = placementsOf(chosen);
  const places = usePlacementCandidates(project.id, entry.slug, { version, chosen: intent });
  const missing = missingPlacements(componentsOf(manifest), chosen);
  // What is chosen takes places from the others: only before anything is chosen does it say that there are none.
  const blocked =
    block ?? (intent.length === 0 ? placementBlock(componentsOf(manifest), places.data, project) : null);

  const launch = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/projects/{project_id}/instances", {
          params: { path: { project_id: project.id } },
          body: {
            app: entry.slug,
            version,
            name: name.trim(),
            inputs: sentOf(inputs, values) as Values,
            placement_intent: intent,
            served_projects: [],
            when_no_controller: "refuse",
            reconcile_policy: policy,
            secrets: Object.fromEntries(
              Object.entries(given).map(([key, value]) => [
                key,
                { value: String(value), encoding: "text" as const },
              ]),
            ),
          },
        }),
      ),
    onSuccess: ({ instance }) => {
      notify(`${instance.name} is being launched`);
      void navigate({ to: "/workloads/$instanceId", params: { instanceId: instance.id } } as never);
    },
    onError: (error) => setErrors(placed(error)),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = check(inputs, values);
    Object.assign(found, check(wanted, given));
    if (!name.trim()) found["#name"] = "Required";
    setErrors(found);
    if (Object.keys(found).length === 0 && missing.length === 0 && !blocked) launch.mutate();
    else document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  };

  return (
    <form onSubmit={submit} noValidate>
      <Head entry={entry} />
      <div className="stack">
        <Panel title="App">
          <Group align="flex-start" grow preventGrowOverflow={false}>
            <TextInput
              label="Workload name"
              name="name"
              required
              value={name}
              error={errors["#name"] ?? errors.name}
              autoComplete="off"
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Select
              label="Version"
              allowDeselect={false}
              data={entry.versions
                .filter((one) => one.status === "active" || one.version === version)
                .map((one) => ({
                  value: one.version,
                  label: `${one.version}${one.status === "canary" ? ", canary" : ""} (runtime ${one.runtime_version})`,
                }))}
              value={version}
              onChange={(next) => next && onVersion(next)}
            />
            <Select
              label="If a member stops working"
              allowDeselect={false}
              data={[
                { value: "notify", label: "Notify" },
                { value: "auto", label: "Reconcile automatically" },
                { value: "off", label: "Do nothing" },
              ]}
              value={policy}
              onChange={(next) => next && setPolicy(next as Instance["reconcile_policy"])}
            />
          </Group>
          {hasChannels(entry) && (
            <Text size="sm" mt="sm" className="dim">
              {channelText(entry)}
            </Text>
          )}
        </Panel>
        {Object.keys(inputs.properties ?? {}).length > 0 && (
          <Panel title="Inputs">
            <SchemaForm schema={inputs} values={values} onChange={setValues} errors={errors} />
          </Panel>
        )}
        {Object.keys(wanted.properties ?? {}).length > 0 && (
          <Panel title="Secrets">
            <SchemaForm schema={wanted} values={given} onChange={setGiven} errors={errors} />
          </Panel>
        )}
        <Panel title="Allocations to run it on" aside={demands(manifest.compatibility).join(" · ")}>
          <Stack gap="md">
            {componentsOf(manifest).map((component) => (
              <AllocationPicker
                key={component.key}
                label={`${component.display_name ?? component.key}: ${countName(component)}, ${placementName(component.placement)}`}
                places={places}
                component={component.key}
                most={component.max}
                chosen={chosen[component.key] ?? []}
                onChange={(ids) => setChosen({ ...chosen, [component.key]: ids })}
              />
            ))}
          </Stack>
        </Panel>
        <Panel title="Review">
          <Stack gap="md">
            <Review name={name} entry={entry} chosen={chosen} places={places.data} missing={missing} />
            {launch.error && <ProblemPanel problem={explained(launch.error)} />}
            <Group justify="flex-end">
              {blocked ? (
                <LaunchBlocked block={blocked} />
              ) : (
                <Button
                  type="submit"
                  loading={launch.isPending}
                  disabled={missing.length > 0 || (places.data?.refusals.length ?? 0) > 0}
                >
                  Launch
                </Button>
              )}
            </Group>
          </Stack>
        </Panel>
      </div>
    </form>
  );
}

/** Where the API found fault, by the paths of this form. */
function placed(error: unknown): Errors {
  return Object.fromEntries(
    fieldErrors(error).map((one) => [
      one.where.replace(/^(body\.)?(inputs[./])?\/?/, "").replaceAll("/", "."),
      one.message,
    ]),
  );
}
