import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { keys } from "../api/keys";
import { type Session, sessionEnd, sessionQuery } from "../api/session";

/** Who looks at the page. Only inside the shell, which lets nobody else in. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error("no session: this page is not inside the shell");
  return data;
}

export function useLogout(): () => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  return async () => {
    await sessionEnd();
    client.clear();
    client.setQueryData(keys.session, null);
    await navigate({ to: "/login" });
  };
}
