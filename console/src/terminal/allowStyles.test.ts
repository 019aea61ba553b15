import { expect, test } from "vitest";
import { allowStyles } from "./allowStyles";

document.head.innerHTML = '<meta name="csp-nonce" content="of-today">';

test("style elements carry the nonce of the page while a terminal is open, and not before or after", () => {
  expect(document.createElement("style").nonce).not.toBe("of-today");
  const first = allowStyles(document);
  const second = allowStyles(document);
  first();
  first();
  expect(document.createElement("style").nonce).toBe("of-today");
  second();
  expect(document.createElement("style").nonce).not.toBe("of-today");
});

test("other attributes of a span are set as ever", () => {
  const end = allowStyles(document);
  const span = document.createElement("span");
  span.setAttribute("class", "xterm-bold");
  end();
  expect(span.className).toBe("xterm-bold");
});
