import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiProblem } from "../api/problem";
import type { CatalogEntry } from "../api/types";
import { Empty, Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";

interface Props {
  slug: string;
  title: string;
  query: UseQueryResult<CatalogEntry>;
  children: (entry: CatalogEntry) => ReactNode;
}

/** An app of the catalog. One that is not there may be one that the tenant has no entitlement to. */
export function AppLoaded({ slug, title, query, children }: Props) {
  const missing = query.error instanceof ApiProblem && query.error.document.status === 404;
  if (!query.data && missing)
    return (
      <>
        <PageHead title={title} above={<PageLink to="/catalog">Catalog</PageLink>} />
        <Empty
          icon="apps"
          title={`${slug} is not in the catalog of this project`}
          text="Either the name is wrong, or your tenant is not entitled to the app. A platform administrator can entitle it."
        >
          <PageLink to="/catalog">Show the catalog</PageLink>
        </Empty>
      </>
    );
  return (
    <>
      {!query.data && <PageHead title={title} />}
      <Loaded query={query}>{children}</Loaded>
    </>
  );
}
