import { useProject } from "../app/project";
import { useSession } from "../app/session";
import { Mono } from "../parts/KeyValues";
import { useProjectMembers, useServiceAccounts } from "./queries";

/** A person or program of the project by name; who is not of the project, by id. Only administrators may list programs. */
export function ActorName({ id }: { id: string }) {
  const project = useProject();
  const { user } = useSession();
  const members = useProjectMembers(project.id).rows;
  const accounts = useServiceAccounts(
    project.id,
    project.allowed_actions.includes("service_account_create"),
  ).rows;
  const name = [user, ...members, ...accounts].find((one) => one.id === id)?.name;
  return name ? <span title={id}>{name}</span> : <Mono text={id} />;
}
