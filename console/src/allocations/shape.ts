/** What a tenant must know before sharing a host; empty for a shape that shares none. */
export function isolationNote(shape: string): string {
  return shape === "gpu_slice"
    ? "On lab hosts a slice is a container that runs as the host's root: it isolates nothing."
    : "";
}

/** What a shape is for a person; one that we do not know stays as it is. */
export function shapeWords(shape: string): string {
  return { baremetal: "a whole host", gpu_slice: "a slice of a host" }[shape] ?? shape.replaceAll("_", " ");
}
