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

export function ResourceLink({ id }: { id: string | null }) {
  if (!id) return <span className="dim">–</span>;
  const page = pageOf(id);
  return page ? (
    <PageLink to={page}>
      <Mono text={id} />
    </PageLink>
  ) : (
    <Mono text={id} />
  );
}
