// The wire format of server-sent events, cut out of chunks that end anywhere.
export interface Frame {
  id: string | undefined;
  event: string;
  data: string;
}

export class FrameReader {
  private rest = "";

  /** The whole events that this chunk completes. Comments keep the connection alive, and are no events. */
  push(chunk: string): Frame[] {
    const blocks = (this.rest + chunk).split(/\r?\n\r?\n/);
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => parse(block) ?? []);
  }
}

function parse(block: string): Frame | null {
  const frame: Frame = { id: undefined, event: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "data") data.push(value);
    else if (field === "id") frame.id = value;
    else if (field === "event") frame.event = value;
  }
  frame.data = data.join("\n");
  return data.length ? frame : null;
}
