// For what no event tells of: after a change of our own, what we have read is old.
import { queries } from "../app/queries";
import { keys, type Noun } from "./keys";

export function stale(noun: Noun, scope: string): Promise<void> {
  return queries.invalidateQueries({ queryKey: keys.all(noun, scope) });
}

/** The answer of a change, once what it makes stale is being read again. */
export async function invalidateAfter<T>(answer: Promise<T>, ...places: [Noun, string][]): Promise<T> {
  const done = await answer;
  for (const [noun, scope] of places) void stale(noun, scope);
  return done;
}
