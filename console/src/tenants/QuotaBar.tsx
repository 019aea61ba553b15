import { Progress } from "@mantine/core";
import type { Quota } from "../api/types";
import classes from "./QuotaBar.module.css";

/** Shows how much of a quota is used. */
export function QuotaBar({ quota }: { quota: Quota }) {
  if (quota.gpu_limit === null) return <span>{quota.gpus_used} in use, no limit</span>;
  const share = quota.gpu_limit === 0 ? 100 : Math.min(100, (quota.gpus_used / quota.gpu_limit) * 100);
  return (
    <span className={classes.quota}>
      <Progress
        value={share}
        size="sm"
        color={share >= 100 ? "orange" : "iris"}
        className={classes.bar}
        aria-label={`${quota.gpus_used} of ${quota.gpu_limit} GPUs`}
      />
      <span>
        {quota.gpus_used} of {quota.gpu_limit}
      </span>
    </span>
  );
}
