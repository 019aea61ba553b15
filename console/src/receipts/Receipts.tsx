import { Accordion } from "@mantine/core";
import type { ReceiptLine } from "../api/types";
import { Empty, Failed, Loaded, Loading } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { ProblemPanel } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { Checks } from "./Checks";
import { type ReceiptFilter, useReceipt, useReceipts } from "./queries";
import classes from "./Receipts.module.css";

interface Props {
  project: string;
  filter: ReceiptFilter;
  nameOf?: (member: string) => string;
  /** Where nothing was torn down there is nothing to prove. */
  hideEmpty?: boolean;
}

/** Teardown receipts, one for each host, with their checks. */
export function Receipts({ project, filter, nameOf, hideEmpty }: Props) {
  const listing = useReceipts(project, filter);
  if (hideEmpty && listing.rows.length === 0) return null;
  return (
    <Panel title="Teardown receipts" flush>
      {listing.error ? (
        <Failed error={listing.error} retry={listing.retry} />
      ) : listing.pending ? (
        <Loading />
      ) : listing.rows.length === 0 ? (
        <Empty
          icon="check"
          title="No teardowns yet"
          text="After a stop, a removal or a decommission, the agents inspect the hosts. Their evidence is shown here."
        />
      ) : (
        <Accordion multiple chevronPosition="left">
          {listing.rows.map((line) => (
            <Accordion.Item key={line.id} value={line.id}>
              <Accordion.Control>
                <Headline line={line} nameOf={nameOf} />
              </Accordion.Control>
              <Accordion.Panel>
                <Evidence project={project} line={line} />
              </Accordion.Panel>
            </Accordion.Item>
          ))}
        </Accordion>
      )}
    </Panel>
  );
}

function Headline({
  line,
  nameOf,
}: {
  line: ReceiptLine;
  nameOf?: ((member: string) => string) | undefined;
}) {
  return (
    <span className={classes.head}>
      <span className={classes.name}>{nameOf?.(line.member_id) ?? line.member_id}</span>
      <StateBadge state={line.status} />
      <span className="dim">{line.depth === "gone" ? "nothing is left" : "nothing runs"}</span>
      {line.left > 0 && <span className={classes.left}>{line.left} left</span>}
      <span className={classes.time}>
        <RelativeTime at={line.settled_at ?? line.created_at} />
      </span>
    </span>
  );
}

function Evidence({ project, line }: { project: string; line: ReceiptLine }) {
  const query = useReceipt(project, line.id);
  return (
    <Loaded query={query}>
      {(receipt) => (
        <div className="stack">
          {receipt.failure && (
            <ProblemPanel
              problem={{ ...receipt.failure, correlation_id: receipt.correlation_id }}
              tone="warn"
            />
          )}
          {receipt.forced && (
            <p className="dim">
              Accepted without proof <RelativeTime at={receipt.forced.at} />: {receipt.forced.reason}
            </p>
          )}
          <Checks checks={receipt.checks} />
        </div>
      )}
    </Loaded>
  );
}
