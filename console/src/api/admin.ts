// Whether somebody holds the platform's highest role: for actions on the platform as a whole, which has no resource that
// could say what is allowed. The API decides, and refuses.
import type { Me } from "./types";

export function isAdministrator(me: Me): boolean {
  return me.roles.some((one) => one.role === "platform_admin");
}
