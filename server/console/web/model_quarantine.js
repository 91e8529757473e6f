// SPDX-License-Identifier: Apache-2.0
// The quarantine of a model: the waiting changes, the model's verdicts on them, and one click to settle those of a source.

import {get, json, model as of} from "./api.js";
import {failure, h, put, say, table} from "./dom.js";
import {count, percent, plural} from "./format.js";
import {question} from "./model_labels.js";
import {labelsText} from "./near_label.js";

const PAGE = 1000, ROWS = 50;

// {quarantine, next}: the first changes that wait, for whoever may settle them.
export const firstOf = (name, limit) => get(of(name, ["quarantine"], {limit}));

const wanted = (row) => (row.untrain ? "to be forgotten" : row.labels ? labelsText(row.labels) : row.label ?? "without a label");
const says = (row) => (row.verdict === undefined ? "-" : row.probability === undefined ? row.verdict : `${row.verdict} (${wanted(row)}: ${percent(row.probability)})`);

// Of each source: {source, changes, agreed: with what the model says, until: when the last of them came}.
function sourcesOf(rows) {
  const found = new Map();
  for (const row of rows) {
    const known = found.get(row.source) ?? {source: row.source, changes: 0, agreed: 0, until: row.time};
    known.changes++;
    known.agreed += row.verdict !== undefined && row.verdict === row.label ? 1 : 0;
    if (row.time > known.until) known.until = row.time;
    found.set(row.source, known);
  }
  return [...found.values()].sort((a, b) => b.changes - a.changes);
}

// Shows nothing if nothing waits; changed() is called when something was learned.
export async function waiting(place, name, changed) {
  const {quarantine: rows, next} = await firstOf(name, PAGE);
  if (rows.length === 0) return void put(place);
  const told = h("div");
  // Only what was seen: what has come since is looked at first.
  const settle = async ({source, until}, verb) => {
    try {
      const done = await json("POST", of(name, ["quarantine", verb]), {source, until});
      const learned = Object.entries(done.applied ?? {}).map(([status, n]) => `${status} ${count(n)}`).join(", ");
      say(verb === "drop" ? `${plural(done.dropped, "change")} dropped.` : `Done: ${learned}.`);
      await waiting(place, name, changed);
      await changed();
    } catch (error) {
      put(told, failure(error));
    }
  };
  const button = (one, verb, text, isDanger) => h("button", {type: "button", class: isDanger ? "quiet danger" : "quiet", "aria-label": `${text}: ${one.source}`,
    onclick: () => question(`${text}: ${plural(one.changes, "change")} by ${one.source}?`, text, () => settle(one, verb), isDanger ? "danger" : "main")}, text);
  put(place, h("h2", null, "Quarantine"), h("p", null, "These changes came from sources without trust. Apply them to learn them."), told,
    table("By source", [{name: "Source"}, {name: "Changes", number: true}, {name: "Agree with the model", number: true}, {name: "Actions"}],
      sourcesOf(rows).map((one) => [one.source, count(one.changes), count(one.agreed), h("span", {class: "buttons"}, button(one, "apply", "Apply", false), button(one, "drop", "Drop", true))])),
    table("Changes", [{name: "Document"}, {name: "Source"}, {name: "Label"}, {name: "Model's verdict"}],
      rows.slice(0, ROWS).map((row) => [row.id, row.source, wanted(row), says(row)])),
    next || rows.length > ROWS ? h("p", {class: "hint"}, `${next ? "More" : count(rows.length - ROWS)} follow.`) : null);
}
