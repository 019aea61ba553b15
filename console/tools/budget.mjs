// Fails the build when what a first visit must load is over the budget: 250 kB of JavaScript, gzipped.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 250_000;
// Too large for a first view; they must come with the page that needs them.
const NEVER_INITIAL = ["@xterm", "uplot"];

const dist = new URL("../dist/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));

const initial = new Set();
function visit(key) {
  if (initial.has(key)) return;
  initial.add(key);
  for (const inner of manifest[key].imports ?? []) visit(inner);
}
for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry) visit(key);

const files = [...initial].map((key) => manifest[key].file).filter((file) => file.endsWith(".js"));
const size = files.reduce(
  (sum, file) => sum + gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length,
  0,
);
console.log(
  `initial JavaScript: ${(size / 1000).toFixed(1)} kB gzipped of ${LIMIT / 1000} kB, in ${files.length} files`,
);

const early = NEVER_INITIAL.filter((name) => [...initial].some((key) => key.includes(name)));
if (early.length) console.error(`loaded at once, and should not be: ${early.join(", ")}`);
if (size > LIMIT || early.length) process.exit(1);
