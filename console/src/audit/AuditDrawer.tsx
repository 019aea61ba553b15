import { Stack } from "@mantine/core";
import type { AuditRecord } from "../api/types";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Correlation } from "../parts/ProblemPanel";
import { SideDrawer } from "../parts/SideDrawer";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { exactTime } from "../parts/time";
import { ResourceLink } from "./ResourceLink";
import { type ResourceNames, recordName } from "./resourceNames";

interface Props {
  record: AuditRecord;
  names: ResourceNames;
  onClose: () => void;
}

export function AuditDrawer({ record, names, onClose }: Props) {
  return (
    <SideDrawer title={record.action} size="lg" onClose={onClose}>
      <Stack gap="lg">
        <KeyValues
          items={[
            ["When", exactTime(record.at)],
            ["Outcome", <StateBadge key="outcome" state={record.outcome} />],
            ["Actor", record.actor_name],
            ["Actor ID", <Mono key="actor" text={record.actor_id} copy="Copy ID" />],
            ["Address", record.address],
            ["Source", record.source],
            ["Client", record.user_agent || null],
            ["Site", record.site || null],
            [
              "Resource",
              <ResourceLink key="resource" id={record.resource_id} name={recordName(record, names)} />,
            ],
            [
              "Resource ID",
              record.resource_id && <Mono key="resource-id" text={record.resource_id} copy="Copy ID" />,
            ],
            ["Reason", record.reason],
            ["Request", <Correlation key="correlation" id={record.correlation_id} />],
          ]}
        />
        {Object.keys(record.details).length > 0 && (
          <Snippet label="Details" text={JSON.stringify(record.details, null, 2)} wrap />
        )}
      </Stack>
    </SideDrawer>
  );
}
