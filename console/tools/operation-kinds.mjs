// Writes src/api/operationKinds.ts: the table of operation kinds, which the contract has in `x-operation-kinds`.
import { readFileSync, writeFileSync } from "node:fs";

const contract = JSON.parse(readFileSync("../contract/openapi.json", "utf8"));
const kinds = Object.fromEntries(contract["x-operation-kinds"].map((kind) => [kind.name, kind]));
const table = JSON.stringify(kinds, null, 2).replace(/"(\w+)":/g, "$1:");
const lines = [
  "// Written from the contract by tools/operation-kinds.mjs: what the console has to know of each kind of operation.",
  `export const OPERATION_KINDS = ${table} as const;`,
];
writeFileSync("src/api/operationKinds.ts", `${lines.join("\n")}\n`);
