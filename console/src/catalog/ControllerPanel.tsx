import type { CatalogApp } from "../api/types";
import { useProject } from "../app/project";
import { KeyValues } from "../parts/KeyValues";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { ControllerOffers } from "../tenants/ControllerOffers";

/** Who does the work of the app in this project, and, for those who may, the tenant's consent to it. */
export function ControllerPanel({ app }: { app: CatalogApp }) {
  const project = useProject();
  const { controller } = app;
  return (
    <>
      <Panel title="Controller">
        <KeyValues
          items={[
            ["State", <StateBadge key="state" state={controller.state} />],
            controller.state !== "live" && ["Reason", controller.message],
            controller.state !== "live" && ["Next step", controller.next_step],
            ["Served by", controller.served_by],
            controller.since !== null && [
              "Running since",
              <RelativeTime key="since" at={controller.since} />,
            ],
            controller.version !== null && ["Version", controller.version],
          ]}
        />
      </Panel>
      {app.allowed_actions.includes("controller_consent_give") && (
        <ControllerOffers tenantId={project.tenant_id} app={app.slug} />
      )}
    </>
  );
}
