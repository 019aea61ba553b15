import { Button, Select } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { CatalogEntry, CatalogVersion } from "../api/types";
import { useProject } from "../app/project";
import { helpOf, labelOf as inputLabel, kindOf } from "../forms/schema";
import { usePlacementCandidates } from "../launch/candidates";
import { LaunchBlocked } from "../launch/LaunchBlocked";
import { launchBlock, placementBlock } from "../launch/launchBlocks";
import { KeyValues, Mono } from "../parts/KeyValues";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { AppLoaded } from "./AppLoaded";
import classes from "./AppPage.module.css";
import { ChannelPanel } from "./ChannelPanel";
import { ControllerPanel } from "./ControllerPanel";
import {
  componentName,
  componentsOf,
  countName,
  demands,
  inputsOf,
  type Manifest,
  placementName,
} from "./manifest";
import { useCatalogEntry } from "./queries";

export function AppPage() {
  const { slug } = useParams({ strict: false }) as { slug: string };
  const project = useProject();
  const [version, setVersion] = useState<string>();
  const query = useCatalogEntry(project.id, slug, version);
  return (
    <AppLoaded slug={slug} title="App" query={query}>
      {(entry) => <Shown entry={entry} onVersion={setVersion} />}
    </AppLoaded>
  );
}

/** The button, or why there is none. */
function Launch({ entry }: { entry: CatalogEntry }) {
  const navigate = useNavigate();
  const project = useProject();
  const block = launchBlock(entry, project);
  const places = usePlacementCandidates(project.id, entry.slug, {
    chosen: [],
    enabled: block === null,
  });
  const found = block ?? placementBlock(componentsOf(entry.manifest as Manifest), places.data, project);
  if (found) return <LaunchBlocked block={found} />;
  return (
    <Button size="xs" onClick={() => void navigate({ to: `/launch/${entry.slug}` } as never)}>
      Launch
    </Button>
  );
}

function Shown({ entry, onVersion }: { entry: CatalogEntry; onVersion: (version: string) => void }) {
  const manifest = entry.manifest as Manifest;
  return (
    <>
      <PageHead
        title={entry.display_name}
        above={<PageLink to="/catalog">Catalog</PageLink>}
        badges={<StateBadge state={entry.shown.status} />}
        lead={entry.description}
        actions={<Launch entry={entry} />}
      />
      <div className="stack">
        <div className="columns">
          <Panel
            title="Version"
            aside={
              <Select
                size="xs"
                w={130}
                aria-label="Version"
                allowDeselect={false}
                data={entry.versions.map((one) => one.version)}
                value={entry.shown.version}
                onChange={(next) => next && onVersion(next)}
              />
            }
          >
            <KeyValues items={versionFacts(entry, manifest)} />
          </Panel>
          <Panel title="All versions" flush>
            <ul className={classes.versions}>
              {entry.versions.map((one) => (
                <Version key={one.id} version={one} latest={one.version === entry.latest} />
              ))}
            </ul>
          </Panel>
        </div>
        <ChannelPanel entry={entry} />
        <ControllerPanel app={entry} />
        <Panel title="Components" aside={demands(manifest.compatibility).join(" · ")}>
          <ul className={classes.rows}>
            {componentsOf(manifest).map((one) => (
              <li key={one.key}>
                <span className={classes.name}>{one.display_name ?? one.key}</span>
                <span>
                  {countName(one)} {one.max === 1 ? "member" : "members"}, {placementName(one.placement)}
                  {one.depends_on?.length ? `, needs ${namesOf(manifest, one.depends_on)}` : ""}
                  {demands(one.compatibility).map((demand) => `, ${demand}`)}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
        <div className="columns">
          <Panel title="Inputs">
            <ul className={classes.rows}>
              {Object.entries(inputsOf(manifest).properties ?? {}).map(([name, schema]) => (
                <li key={name}>
                  <span className={classes.name}>{inputLabel(name, schema)}</span>
                  <span className="dim">
                    {helpOf(schema) ??
                      (
                        { choice: (schema.enum ?? []).join(", "), rows: "list", group: "group" } as Record<
                          string,
                          string
                        >
                      )[kindOf(schema)] ??
                      kindOf(schema)}
                    {schema.default !== undefined && `, default ${JSON.stringify(schema.default)}`}
                  </span>
                </li>
              ))}
            </ul>
          </Panel>
          <Panel title="Footprint on a host">
            <p className={classes.lead}>
              What the app puts on a host. After a teardown none of it may be left; the receipt proves it.
            </p>
            <ul className={classes.rows}>
              {Object.entries(manifest.footprint ?? {}).map(([kind, items]) => (
                <li key={kind}>
                  <span className={classes.name}>{labelOf(kind)}</span>
                  <span className={classes.items}>
                    {items.map((item) => (
                      <code key={JSON.stringify(item)}>{itemName(item)}</code>
                    ))}
                  </span>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
      </div>
    </>
  );
}

function versionFacts(entry: CatalogEntry, manifest: Manifest): [string, React.ReactNode][] {
  const { shown } = entry;
  const digest = manifest.artifact?.digest;
  return [
    ["App version", shown.version],
    ["Runtime version", shown.runtime_version],
    ["Kind", labelOf(manifest.artifact?.kind ?? "controller")],
    ["Published by", entry.own ? "Your tenant" : "Another tenant"],
    ["Digest", digest ? <Mono key="digest" text={digest} copy="Copy digest" /> : null],
    ["Trust", "Hosts get only the bytes with this digest, and only while they are trusted."],
    ["Usage metered", manifest.metering?.map((one) => labelOf(one.key)).join(", ") || null],
    [
      "Documentation",
      manifest.ui?.documentation_url ? (
        <a key="docs" href={manifest.ui.documentation_url} rel="noreferrer" target="_blank">
          {manifest.ui.documentation_url}
        </a>
      ) : null,
    ],
  ];
}

function Version({ version, latest }: { version: CatalogVersion; latest: boolean }) {
  return (
    <li className={classes.version}>
      <span className={classes.name}>
        {version.version} {latest && <span className="dim">for new launches</span>}
      </span>
      <span className="dim">runtime {version.runtime_version}</span>
      <StateBadge state={version.status} />
      {version.notice && <span className={classes.notice}>{version.notice}</span>}
      {version.retire_at && (
        <span className="dim">
          retired not before <RelativeTime at={version.retire_at} />
        </span>
      )}
    </li>
  );
}

/** Components by the names that people read. */
function namesOf(manifest: Manifest, keys: string[]): string {
  return keys.map((key) => componentName(manifest, key)).join(", ");
}

function itemName(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item);
  const { port, protocol, name } = item as { port?: number; protocol?: string; name?: string };
  return [port, protocol, name].filter(Boolean).join(" ");
}
