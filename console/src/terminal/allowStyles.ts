import { nonce } from "../app/nonce";

let openTerminals = 0;

/**
 * xterm writes style elements and style attributes, with the window's own document whatever it is given. While a terminal
 * is open, elements made by that document are ones that the Content-Security-Policy lets in: a style element carries
 * the nonce, a style attribute of a span is set in the way that scripts may. Returned: what ends it.
 */
export function allowStyles(document: Document): () => void {
  if (openTerminals++ === 0) {
    document.createElement = allowed(document.createElement.bind(document)) as typeof document.createElement;
  }
  let mine = true;
  return () => {
    if (mine && --openTerminals === 0) Reflect.deleteProperty(document, "createElement");
    mine = false;
  };
}

type Create = (tag: string, options?: ElementCreationOptions) => HTMLElement;

function allowed(create: Create): Create {
  return (tag, options) => {
    const element = create(tag, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce();
    if (element instanceof HTMLSpanElement) element.setAttribute = styleByScript;
    return element;
  };
}

/** Colours that are not in the palette. */
function styleByScript(this: HTMLElement, name: string, value: string): void {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}
