import { expect, test } from "vitest";
import { nonceDocument, withNonces } from "./nonceDocument";

document.head.innerHTML = '<meta name="csp-nonce" content="of-today">';

test("style elements of xterm carry the nonce of the page", () => {
  const style = nonceDocument(document).createElement("style");
  expect(style.nonce).toBe("of-today");
});

test("also those that it makes with the window's document, and nobody else's afterwards", () => {
  let style: HTMLStyleElement | undefined;
  withNonces(document, () => {
    style = document.createElement("style");
  });
  expect(style?.nonce).toBe("of-today");
  expect(Object.hasOwn(document, "createElement")).toBe(false);
});
