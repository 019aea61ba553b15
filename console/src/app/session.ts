import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "../api/keys";
import { type Session, sessionEnd, sessionQuery } from "../api/session";
import { notify } from "../parts/notify";
import { explained } from "../parts/ProblemPanel";

/** The signed-in user. Use it only inside the shell, which requires a session; a page that is being left keeps its user. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  const [first] = useState(data);
  const session = data ?? first;
  if (!session) throw new Error("no session: this page is not inside the shell");
  return session;
}

export function useLogout(): () => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  return async () => {
    try {
      await sessionEnd();
    } catch (error) {
      const { message, next_step } = explained(error);
      return notify(`You are still logged in. ${message} ${next_step}`);
    }
    client.setQueryData(keys.session, null);
    await navigate({ to: "/login" });
    client.clear(); // not before: the page that is left would be drawn once more, without what it needs
  };
}
