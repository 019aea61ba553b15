import { useState } from "react";
import type { Event } from "../../api/types";
import { useLiveEvents } from "../../live/LiveProvider";

/** Announces changes to screen readers. */
export function Announcer() {
  const [words, setWords] = useState("");
  useLiveEvents((event) => {
    const said = sentence(event);
    if (said) setWords(said);
  });
  return (
    <div aria-live="polite" className="visually-hidden">
      {words}
    </div>
  );
}

function sentence(event: Event): string | null {
  const [noun, change] = event.type.split(".");
  if (!noun || !change || !["instance", "allocation", "operation", "member"].includes(noun)) return null;
  const name = typeof event.data.name === "string" ? event.data.name : "";
  return `${noun} ${name}: ${change.replaceAll("_", " ")}`;
}
