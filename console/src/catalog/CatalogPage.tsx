import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useRest } from "../api/pages";
import type { CatalogApp } from "../api/types";
import { useProject } from "../app/project";
import { Icon } from "../parts/Icon";
import { Empty, Failed, Loading } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { labelOf } from "../parts/states";
import classes from "./CatalogPage.module.css";
import { MissingApps } from "./MissingApps";
import { useCatalog } from "./queries";

export function CatalogPage() {
  const project = useProject();
  const listing = useCatalog(project.id);
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  useRest(listing, wanted !== "");
  const found = listing.rows.filter((app) => words(app).includes(wanted));
  return (
    <>
      <PageHead
        title="Catalog"
        lead="Apps that this project may launch."
        actions={
          <TextInput
            size="xs"
            aria-label="Filter apps"
            placeholder="Filter"
            leftSection={<Icon name="search" size={14} />}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        }
      />
      {listing.error ? (
        <Failed error={listing.error} retry={listing.retry} />
      ) : listing.pending || (found.length === 0 && listing.more) ? (
        <Loading />
      ) : found.length === 0 ? (
        <Empty
          icon="apps"
          title={wanted ? `Nothing matches “${text}”` : "No apps for this project"}
          text={
            wanted ? undefined : "An app appears here when it is public or your tenant is entitled to it."
          }
        />
      ) : (
        <ul className={classes.apps}>
          {found.map((app) => (
            <Card key={app.id} app={app} />
          ))}
        </ul>
      )}
      <MissingApps project_id={project.id} />
      {listing.more && (
        <Button variant="default" size="xs" mt="md" loading={listing.loadingMore} onClick={listing.loadMore}>
          More apps
        </Button>
      )}
    </>
  );
}

function Card({ app }: { app: CatalogApp }) {
  const latest = app.versions.find((one) => one.version === app.latest) ?? app.versions[0];
  return (
    <li className={classes.card}>
      <div className={classes.title}>
        <h2>
          <PageLink to={`/catalog/${app.slug}`} className={classes.cover}>
            {app.display_name}
          </PageLink>
        </h2>
        {app.category && <span className={classes.category}>{labelOf(app.category)}</span>}
      </div>
      <p className={classes.text}>{app.description}</p>
      <p className={classes.version}>
        {latest ? (
          <>
            {latest.version}
            <span className="dim"> · runtime {latest.runtime_version}</span>
          </>
        ) : (
          <span className="dim">no version to launch</span>
        )}
        {app.own && <span className={classes.own}>yours</span>}
      </p>
      <p className={classes.served}>
        {app.controller.since ? (
          <>
            Served by {app.controller.served_by}, started <RelativeTime at={app.controller.since} />
          </>
        ) : (
          app.controller.message
        )}
      </p>
    </li>
  );
}

function words(app: CatalogApp): string {
  return [app.display_name, app.slug, app.description, app.category ?? "", ...app.keywords]
    .join(" ")
    .toLowerCase();
}
