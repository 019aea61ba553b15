import type { ReactNode } from "react";
import { ProblemPanel } from "../parts/ProblemPanel";
import { exactTime } from "../parts/time";

interface Props {
  noun: "tenant" | "project";
  deleteAfter: string | null;
  /** The actions, for users who may undo it. */
  children?: ReactNode;
}

/** Says that a tenant or project is to be deleted, and when. */
export function DeletionBanner({ noun, deleteAfter, children }: Props) {
  if (!deleteAfter) return null;
  return (
    <ProblemPanel
      tone="warn"
      title={`This ${noun} will be deleted`}
      problem={{
        code: "deletion_scheduled",
        message: `Everything in it will be removed after ${exactTime(deleteAfter)}. Until then, nothing in it can be changed.`,
        next_step: children
          ? "Undo the deletion, or export what you want to keep."
          : `Ask an administrator of the ${noun === "tenant" ? "platform" : "tenant"} to undo it.`,
      }}
    >
      {children}
    </ProblemPanel>
  );
}
