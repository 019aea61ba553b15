// Who is logged in. The secret is in a cookie that scripts cannot read; what we hold is the CSRF token that goes with it.
import type { QueryClient } from "@tanstack/react-query";
import { api, body, setCsrfToken } from "./client";
import { keys } from "./keys";
import { ApiProblem } from "./problem";
import type { Me } from "./types";

export interface Session {
  user: Me;
  csrf_token: string;
  expires_at: string;
}

export async function sessionShow(): Promise<Session | null> {
  const session = await unlessOver(body(api.GET("/api/v1/auth/session")));
  return session && remember(session);
}

export async function sessionStart(username: string, password: string): Promise<Session> {
  const grant = { grant_type: "password" as const, username, password };
  return remember(await body(api.POST("/api/v1/auth/session", { body: grant })));
}

export async function sessionEnd(): Promise<void> {
  await unlessOver(api.DELETE("/api/v1/auth/session"));
  setCsrfToken("");
}

/** Returns the response, or null if there is no session. */
async function unlessOver<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiProblem && error.document.status === 401) return null;
    throw error;
  }
}

function remember(session: Session): Session {
  setCsrfToken(session.csrf_token);
  return session;
}

export const sessionQuery = {
  queryKey: keys.session,
  queryFn: sessionShow,
  staleTime: Number.POSITIVE_INFINITY,
};

export function currentSession(client: QueryClient): Promise<Session | null> {
  return client.ensureQueryData(sessionQuery);
}
