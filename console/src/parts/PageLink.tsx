import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

interface Props {
  /** A path of the console. */
  to: string;
  /** Beside the project in view, which every link keeps. */
  search?: Record<string, string>;
  className?: string | undefined;
  children: ReactNode;
}

/** A link to a page of the console; it keeps the project in view and nothing else of the present address. */
export function PageLink({ to, search, className, children }: Props) {
  return (
    <Link
      to={to}
      search={
        ((before: { project?: string }) => ({
          ...(before.project ? { project: before.project } : {}),
          ...search,
        })) as never
      }
      className={className}
    >
      {children}
    </Link>
  );
}
