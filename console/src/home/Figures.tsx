import type { ReactNode } from "react";
import { useSkus } from "../allocations/skus";
import { money } from "../parts/money";
import { useNow } from "../parts/useNow";
import { useQuota } from "../tenants/quota";
import { useInstances } from "../workloads/queries";
import { costOf } from "./cost";
import classes from "./Figures.module.css";
import { useAllocationsIn } from "./queries";

/** The few numbers that people come for. */
export function Figures({ project }: { project: string }) {
  const now = useNow();
  const running = useInstances(project, { status: "running" });
  const active = useAllocationsIn(project, "active");
  const skus = useSkus();
  const quota = useQuota(project);
  const costs = costOf(active.data ?? [], skus.data ?? [], now);
  const known = active.data && skus.data;
  return (
    <dl className={classes.figures}>
      <Figure
        label="Workloads running"
        value={running.pending ? null : `${running.rows.length}${running.more ? "+" : ""}`}
      />
      <Figure
        label="GPUs allocated"
        value={quota.data ? String(quota.data.gpus_used) : null}
        note={quota.data && (quota.data.gpu_limit === null ? "no limit" : `of ${quota.data.gpu_limit}`)}
      />
      <Figure
        label="Cost per hour"
        value={known ? costs.map((cost) => money(cost.perHour, cost.currency)).join(" + ") || "0" : null}
        note={
          active.data && `${active.data.length} ${active.data.length === 1 ? "allocation" : "allocations"}`
        }
      />
      <Figure
        label="Cost of these so far"
        value={known ? costs.map((cost) => money(cost.sinceStart, cost.currency)).join(" + ") || "0" : null}
        note="at list price"
      />
    </dl>
  );
}

function Figure({ label, value, note }: { label: string; value: string | null; note?: ReactNode }) {
  return (
    <div className={classes.figure}>
      <dt>{label}</dt>
      <dd>
        {value ?? "–"} {note && <span className={classes.note}>{note}</span>}
      </dd>
    </div>
  );
}
