// Publishing a file: an intent, the bytes to where it says, and the digest that the store saw.
import { api, body } from "../api/client";
import { localProblem } from "../api/problem";
import type { PublishIntent } from "../api/types";

const MAX_UPLOAD_BYTES = 2 * 1024 ** 3;

export async function publishBlob(project_id: string, name: string, file: File): Promise<PublishIntent> {
  if (file.size > MAX_UPLOAD_BYTES) {
    throw localProblem("too_large_here", "The browser cannot upload files larger than 2 GiB.", "", {
      next_step: "Use the command beside this form: it uploads any size and resumes after an interruption.",
    });
  }
  const intent = await body(
    api.POST("/api/v1/projects/{project_id}/publish-intents", {
      params: { path: { project_id } },
      body: {
        kind: "blob",
        name,
        media_type: file.type || "application/octet-stream",
        size_bytes: file.size,
      },
    }),
  );
  const path = { project_id, publish_intent_id: intent.id };
  if (!intent.upload?.url.startsWith("/")) {
    await api.POST("/api/v1/projects/{project_id}/publish-intents/{publish_intent_id}/cancel", {
      params: { path },
    });
    throw localProblem(
      "stored_elsewhere",
      "This platform stores files in a bucket, to which the browser cannot upload.",
      "",
      {
        next_step: "Use the command beside this form.",
      },
    );
  }
  const bytes = await file.arrayBuffer();
  const uploaded = await body(
    api.PUT("/api/v1/projects/{project_id}/publish-intents/{publish_intent_id}/content", {
      params: { path },
      body: bytes as never,
      bodySerializer: (sent) => sent as never,
      headers: { "Content-Type": "application/octet-stream" },
    }),
  );
  return body(
    api.POST("/api/v1/projects/{project_id}/publish-intents/{publish_intent_id}/complete", {
      params: { path },
      body: { digest: uploaded.digest },
    }),
  );
}
