import { useFleetLive } from "../nodes/useFleetLive";
import { PageHead } from "../parts/PageHead";
import { BlockedSlots } from "./BlockedSlots";
import { Releases } from "./Releases";
import { StuckOperations } from "./StuckOperations";
import { Teardowns } from "./Teardowns";

/** Whatever does not go on by itself, in any project, each with its ways out. */
export function BlockedPage() {
  useFleetLive();
  return (
    <>
      <PageHead
        title="Blocked"
        lead="Releases, operations and teardowns that need somebody to act, in all projects."
      />
      <div className="stack">
        <Releases />
        <BlockedSlots />
        <StuckOperations status="failed" title="Failed operations" />
        <StuckOperations status="expired" title="Expired operations" />
        <StuckOperations status="running" title="Running operations" />
        <Teardowns status="left" title="Teardowns with leftovers" />
        <Teardowns status="unseen" title="Teardowns that could not be inspected" />
      </div>
    </>
  );
}
