import { useState } from "react";
import { CreateButton } from "../actions/CreateButton";
import { isAdministrator } from "../api/admin";
import { useSession } from "../app/session";
import { Empty, Loaded } from "../parts/Loaded";
import { OneTimeSecret, type Secret, shows } from "../parts/OneTimeSecret";
import { PageHead } from "../parts/PageHead";
import { Panel } from "../parts/Panel";
import { Tabbed } from "../parts/Tabbed";
import { tokenCreateSpec } from "./actions";
import { EnrolmentTokens } from "./EnrolmentTokens";
import { FleetMap, Legend } from "./FleetMap";
import { FleetPlot } from "./FleetPlot";
import { Inventory } from "./Inventory";
import { useSlotMap } from "./queries";
import { useFleetLive } from "./useFleetLive";

export function NodesPage() {
  const { user } = useSession();
  const [secret, setSecret] = useState<Secret | null>(null);
  useFleetLive();
  return (
    <>
      <PageHead
        title="Nodes"
        lead="The hosts of the platform and the state of each GPU."
        actions={
          isAdministrator(user) && (
            <CreateButton spec={shows(tokenCreateSpec, setSecret)} resource={null} name="new hosts" />
          )
        }
      />
      <Tabbed
        label="Views of the fleet"
        tabs={[
          { key: "map", label: "Map", content: () => <Fleet /> },
          { key: "inventory", label: "Inventory", content: () => <Inventory /> },
          {
            key: "enrolment",
            label: "Enrolment",
            content: () => <EnrolmentTokens may={isAdministrator(user)} />,
          },
        ]}
      />
      {secret && <OneTimeSecret secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

function Fleet() {
  const map = useSlotMap();
  return (
    <Loaded query={map}>
      {(nodes) =>
        nodes.length === 0 ? (
          <Empty
            icon="nodes"
            title="No hosts yet"
            text="Create a bundle for new hosts and start their agents with it."
          />
        ) : (
          <div className="stack">
            <Panel title="GPUs by node and slot" aside={`${nodes.length} nodes`}>
              <div className="stack">
                <Legend nodes={nodes} />
                <FleetMap nodes={nodes} />
              </div>
            </Panel>
            <FleetPlot />
          </div>
        )
      }
    </Loaded>
  );
}
