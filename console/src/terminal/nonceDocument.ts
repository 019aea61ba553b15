import { nonce } from "../app/nonce";

/**
 * The document for xterm, which writes style elements and style attributes: elements carry the nonce that the
 * Content-Security-Policy lets in, attributes are set the way that it allows to scripts. Everything else is the document's own.
 */
export function nonceDocument(document: Document): Document {
  const create = allowed(document.createElement.bind(document));
  return new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return create;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** One part of xterm asks the window for its document, whatever it was given: meanwhile that one does the same. */
export function withNonces(document: Document, work: () => void): void {
  document.createElement = allowed(document.createElement.bind(document)) as typeof document.createElement;
  try {
    work();
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
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
