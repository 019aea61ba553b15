// A lock file pins by name and hash. npm also writes down where authors ask for support: addresses that nobody here needs.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
for (const pinned of Object.values(lock.packages)) delete pinned.funding;
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
