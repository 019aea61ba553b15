// The one way to the API. The cookie says who we are; every change carries the session's CSRF token, a key that makes
// it safe to send twice, and a correlation id.
import createClient, { type Middleware } from "openapi-fetch";
import { randomId } from "./ids";
import { printableJson } from "./printable";
import { ApiProblem, awayProblem, problemOf } from "./problem";
import type { paths } from "./schema";

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
const TRIES = 3;
const PAUSE_MS = 400;

let csrfToken = "";
let whenSessionEnds: () => void = () => undefined;

export function setCsrfToken(token: string): void {
  csrfToken = token;
}

export function onSessionEnd(notify: () => void): void {
  whenSessionEnds = notify;
}

/** For requests without this client: reports that the session has ended. */
export function sessionOver(): void {
  whenSessionEnds();
}

const conventions: Middleware = {
  onRequest({ request }) {
    request.headers.set("X-Correlation-ID", randomId());
    if (!SAFE.has(request.method)) {
      request.headers.set("X-CSRF-Token", csrfToken);
      if (!request.headers.has("Idempotency-Key")) request.headers.set("Idempotency-Key", randomId());
    }
    return request;
  },
  async onResponse({ request, response, schemaPath }) {
    if (response.ok) return await printable(response);
    if (response.status === 401 && !schemaPath.startsWith("/api/v1/auth/")) whenSessionEnds();
    throw await problemOf(response, request.headers.get("X-Correlation-ID") ?? "");
  },
};

async function printable(response: Response): Promise<Response> {
  if (!response.headers.get("Content-Type")?.includes("json")) return response;
  const { status, statusText, headers } = response;
  return new Response(printableJson(await response.text()), { status, statusText, headers });
}

/** A request whose answer was lost is sent again, with the same key: the API does it once. */
async function send(request: Request): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetch(request.clone());
    } catch (error) {
      if (request.signal.aborted) throw error;
      if (attempt === TRIES || SAFE.has(request.method)) {
        throw awayProblem(request.headers.get("X-Correlation-ID") ?? "");
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * attempt));
    }
  }
}

export const api = createClient<paths>({ baseUrl: location.origin, credentials: "same-origin", fetch: send });
api.use(conventions);

/** The body of an answer; a refusal was thrown before. */
export async function body<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

export { ApiProblem };
