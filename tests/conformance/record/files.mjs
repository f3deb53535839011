// The files of scenarios: one scenario in a .json; one a line, with members in order, in an .ndjson.
import { readFileSync, writeFileSync } from "node:fs";
import { canonical } from "./expression.mjs";

export function read(path) {
  const text = readFileSync(path, "utf8");
  return path.endsWith(".ndjson") ? text.split("\n").filter(Boolean).map((line) => JSON.parse(line)) : [JSON.parse(text)];
}

export const textOfFile = (path, scenarios) =>
  path.endsWith(".ndjson")
    ? scenarios.map((scenario) => `${JSON.stringify(canonical(scenario))}\n`).join("")
    : `${JSON.stringify(scenarios[0], null, 1)}\n`;

export const write = (path, scenarios) => writeFileSync(path, textOfFile(path, scenarios));
