// The stream of one terminal: bytes both ways, and a few words about it.
import type { Terminal } from "../api/types";

export interface Ended {
  reason: string;
  message: string;
  exit_status: number | null;
}

export interface Heard {
  onOpened: () => void;
  onBytes: (bytes: Uint8Array) => void;
  onEnded: (ended: Ended) => void;
}

const INTERRUPTED: Ended = {
  reason: "interrupted",
  message: "The connection to the terminal was lost.",
  exit_status: null,
};

/** What the server says about the terminal itself; null when it is a word that we do not know. */
export function wordOf(text: string): { type: "opened" } | ({ type: "ended" } & Ended) | null {
  try {
    const word: unknown = JSON.parse(text);
    if (typeof word !== "object" || word === null || !("type" in word)) return null;
    if (word.type === "opened") return { type: "opened" };
    if (word.type !== "ended") return null;
    const { reason, message, exit_status } = word as Partial<Ended>;
    return {
      type: "ended",
      reason: reason ?? "closed",
      message: message ?? "The terminal has ended.",
      exit_status: exit_status ?? null,
    };
  } catch {
    return null;
  }
}

export class TerminalStream {
  private readonly socket: WebSocket;
  private over = false;
  private readonly encoder = new TextEncoder();

  constructor(terminal: Pick<Terminal, "stream">, heard: Heard) {
    const address = new URL(terminal.stream, location.origin);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data !== "string") return heard.onBytes(new Uint8Array(data));
      const word = wordOf(data);
      if (word?.type === "opened") heard.onOpened();
      if (word?.type === "ended") this.end(heard, word);
    };
    this.socket.onclose = () => this.end(heard, INTERRUPTED);
  }

  type(text: string): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(this.encoder.encode(text));
  }

  /** Bytes that are no text, such as those of a mouse. */
  sendBinary(bytes: string): void {
    if (this.socket.readyState === WebSocket.OPEN)
      this.socket.send(Uint8Array.from(bytes, (one) => one.charCodeAt(0) & 255));
  }

  resize(columns: number, rows: number): void {
    if (this.socket.readyState === WebSocket.OPEN)
      this.socket.send(JSON.stringify({ type: "resize", columns, rows }));
  }

  close(): void {
    this.over = true;
    this.socket.close();
  }

  private end(heard: Heard, ended: Ended): void {
    if (this.over) return;
    this.over = true;
    heard.onEnded(ended);
  }
}
