/** What a shape is for a person; one that we do not know stays as it is. */
export function shapeWords(shape: string): string {
  return { baremetal: "a whole host", gpu_slice: "a slice of a host" }[shape] ?? shape.replaceAll("_", " ");
}
