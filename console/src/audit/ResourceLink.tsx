import { Mono } from "../parts/KeyValues";
import { PageLink } from "../parts/PageLink";

/** An id says by its beginning what it is of; some have a page. */
const PAGES: Record<string, string> = {
  alc: "/allocations",
  ins: "/workloads",
  op: "/operations",
  art: "/artifacts",
  nod: "/ops/nodes",
  tnt: "/ops/tenants",
};

export function pageOf(id: string): string | null {
  const page = PAGES[id.split("_")[0] ?? ""];
  return page ? `${page}/${id}` : null;
}

/** The resource by its name, where one is known; its id is then the title. */
export function ResourceLink({ id, name }: { id: string | null; name?: string | undefined }) {
  if (!id) return <span className="dim">–</span>;
  const page = pageOf(id);
  const shown = name ? <span title={id}>{name}</span> : <Mono text={id} />;
  return page ? <PageLink to={page}>{shown}</PageLink> : shown;
}
