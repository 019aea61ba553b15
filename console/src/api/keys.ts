// Names of what is kept in the browser. Live events find what they make stale by these names, so every page uses them.
// A key is [noun, scope, "list" | "one" | …, what]; the scope is a project's id, a tenant's id, or "platform".
export const keys = {
  session: ["session"] as const,
  projects: ["projects"] as const,
  list: (noun: Noun, scope: string, filter: object = {}) => [noun, scope, "list", filter] as const,
  lists: (noun: Noun, scope: string) => [noun, scope, "list"] as const,
  one: (noun: Noun, scope: string, id: string) => [noun, scope, "one", id] as const,
  /** Something that belongs to one thing: its timeline, members, grants … */
  of: (noun: Noun, scope: string, id: string, part: string, filter: object = {}) =>
    [noun, scope, "one", id, part, filter] as const,
  all: (noun: Noun, scope: string) => [noun, scope] as const,
};

export type Noun =
  | "allocations"
  | "apps"
  | "artifacts"
  | "audit"
  | "catalog"
  | "credentials"
  | "events"
  | "instances"
  | "members"
  | "nodes"
  | "operations"
  | "publish-intents"
  | "quota"
  | "receipts"
  | "service-accounts"
  | "skus"
  | "ssh-keys"
  | "team"
  | "tenants"
  | "users";
