import { expect, test } from "vitest";
import { size } from "./size";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [300 * 1024 ** 3, "300 GiB"],
])("%i bytes are %s", (bytes, words) => {
  expect(size(bytes)).toBe(words);
});
