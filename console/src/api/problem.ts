// What went wrong, as one kind of error for every page: the API's problem documents, and a network that is unavailable.
import type { components } from "./schema";

export type ProblemDocument = components["schemas"]["ProblemDocument"];

export class ApiProblem extends Error {
  readonly document: ProblemDocument;

  constructor(document: ProblemDocument) {
    super(document.detail);
    this.name = "ApiProblem";
    this.document = document;
  }

  get code(): string {
    return this.document.code;
  }

  get denied(): boolean {
    return this.document.status === 403;
  }
}

export interface FieldError {
  where: string;
  message: string;
}

/** The faulty fields that a problem names, whatever the check that found them. */
export function fieldErrors(problem: unknown): FieldError[] {
  if (!(problem instanceof ApiProblem)) return [];
  const fields = problem.document.details?.fields;
  return Array.isArray(fields) ? fields.filter(isFieldError) : [];
}

function isFieldError(one: unknown): one is FieldError {
  return typeof one === "object" && one !== null && "where" in one && "message" in one;
}

export function awayProblem(correlationId: string): ApiProblem {
  return localProblem("connection_lost", "The platform does not respond.", correlationId, {
    next_step: "Check your network. The console continues when the platform responds.",
    retryable: true,
  });
}

export function localProblem(
  code: string,
  detail: string,
  correlationId: string,
  more: Partial<ProblemDocument> = {},
): ApiProblem {
  return new ApiProblem({
    type: `urn:gpuaas:problem:${code}`,
    title: detail,
    status: 0,
    code,
    detail,
    next_step: "Try again. If it fails again, give an operator the correlation ID.",
    retryable: false,
    correlation_id: correlationId,
    ...more,
  });
}

export async function problemOf(response: Response, correlationId: string): Promise<ApiProblem> {
  try {
    const document: unknown = await response.clone().json();
    if (typeof document === "object" && document !== null && "code" in document) {
      return new ApiProblem(document as ProblemDocument);
    }
  } catch {
    // Not JSON: something between us and the API answered.
  }
  return localProblem(
    "unreadable_answer",
    `The platform answered ${response.status} without a reason.`,
    correlationId,
    {
      status: response.status,
      retryable: response.status >= 500,
    },
  );
}
