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
        lead="What does not go on by itself, in any project, and the ways out of it."
      />
      <div className="stack">
        <Releases />
        <BlockedSlots />
        <StuckOperations status="failed" title="Failed operations" />
        <StuckOperations status="expired" title="Operations that ran out of time" />
        <StuckOperations status="running" title="Operations that run now" />
        <Teardowns status="left" title="Teardowns that left something" />
        <Teardowns status="unseen" title="Teardowns that nobody could look at" />
      </div>
    </>
  );
}
