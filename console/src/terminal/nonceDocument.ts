import { nonce } from "../app/nonce";

/**
 * The document for xterm, which writes style elements: they carry the nonce that the Content-Security-Policy lets in.
 * Everything else is the document's own.
 */
export function nonceDocument(document: Document): Document {
  return new Proxy(document, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "createElement") {
        return (tag: string, options?: ElementCreationOptions) => {
          const element = target.createElement(tag, options);
          if (element instanceof HTMLStyleElement) element.nonce = nonce();
          return element;
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
