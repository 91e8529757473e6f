// SPDX-License-Identifier: Apache-2.0
// The sources of a model's documents; takes back the changes of one after a preview; and lists earlier undos.

import {get, json, model as of} from "./api.js";
import {failure, field, h, put, say, table} from "./dom.js";
import {count, moment, number, percent, plural} from "./format.js";
import {question} from "./model_labels.js";
import {waiting} from "./model_quarantine.js";

const NOTES = 20;
const PAGES = 10; // of 100,000 documents, a second each at most
const ROWS = 50;

// The sources of the documents, most documents first; those of the first million.
async function sourcesOf(name) {
  const rows = new Map();
  let next = 0, pages = 0;
  do {
    const page = await get(of(name, ["sources"], next ? {next} : {}));
    for (const row of page.sources) {
      const known = rows.get(row.source) ?? {...row, documents: 0};
      rows.set(row.source, {...known, documents: known.documents + row.documents,
        first: known.first < row.first ? known.first : row.first, last: known.last > row.last ? known.last : row.last});
    }
    next = page.next;
  } while (next && ++pages < PAGES);
  return {rows: [...rows.values()].sort((a, b) => b.documents - a.documents), hasMore: Boolean(next)};
}

async function teachers(place, name, look) {
  const {rows, hasMore} = await sourcesOf(name);
  const shown = rows.slice(0, ROWS);
  const button = (row) => h("button", {type: "button", class: "quiet", onclick: () => look({source: row.source}), "aria-label": `Take back what ${row.source || "no source"} taught`},
    "Take back");
  put(place, rows.length === 0 ? h("p", null, "This model has learned nothing yet.") :
    table("Sources", [{name: "Source"}, {name: "Documents", number: true}, {name: "First", aside: true}, {name: "Last"}, {name: "Undo"}],
      shown.map((row) => [row.source || "(none)", count(row.documents), moment(row.first), moment(row.last), button(row)])),
  rows.length > ROWS ? h("p", {class: "hint"}, `And ${plural(rows.length - ROWS, "source")} with fewer documents.`) : null,
  hasMore ? h("p", {class: "hint"}, "These are the sources of the first million documents.") : null);
}

function figures({now, without}) {
  const rows = [["Documents with a score", now?.documents, without?.documents, count], ["Accuracy", now?.accuracy, without?.accuracy, percent],
    ["False positives", now?.false_positive_rate, without?.false_positive_rate, percent], ["False negatives", now?.false_negative_rate, without?.false_negative_rate, percent],
    ["Log-loss", now?.log_loss, without?.log_loss, number]];
  const show = (value, format) => (value === undefined || value === null ? "-" : format(value));
  return table("Evaluation now and without them", [{name: "Figure"}, {name: "Now", number: true}, {name: "Without", number: true}],
    rows.map(([name, a, b, format]) => [name, show(a, format), show(b, format)]));
}

const labelText = (labels) => Object.entries(labels).map(([label, {documents}]) => `${label} ${count(documents)}`).join(", ");

async function notes(place, name) {
  const {undone} = await get(of(name, ["undo"], {limit: NOTES}));
  if (undone.length === 0) return;
  const what = (note) => [note.label && `label ${note.label}`, note.source !== undefined && `source ${note.source || "(none)"}`, note.ids && plural(note.ids, "id"),
    note.from && `from ${note.from}`, note.to && `to ${note.to}`].filter(Boolean).join(", ");
  put(place, table("Earlier undos", [{name: "When"}, {name: "By"}, {name: "What"}, {name: "Documents", number: true}],
    undone.map((note) => [new Date(note.time).toLocaleString(), note.by, what(note), count(note.documents)])));
}

export async function show(place, info) {
  const source = h("input", {maxlength: 64, autocomplete: "off"}), from = h("input", {type: "datetime-local"}), to = h("input", {type: "datetime-local"});
  const result = h("div"), before = h("div"), who = h("div"), waits = h("div");
  const time = (input) => (input.value ? new Date(input.value).toISOString() : undefined);
  const wish = () => ({source: source.value.trim() || undefined, from: time(from), to: time(to)});
  const look = async (wanted) => {
    try {
      const found = await json("POST", of(info.name, ["undo"]), {...wanted, dry_run: true});
      const take = () => question(`Take back ${plural(found.documents, "document")}?`, "Take back", () => apply(wanted));
      const heading = h("h2", {tabindex: -1}, "Result of an undo");
      put(result, heading, h("p", null, `${plural(found.documents, "document")} would be taken back: ${count(found.forgotten)} forgotten, `,
        `${count(found.restored)} as they were before. ${labelText(found.labels)}`),
      found.evaluation ? figures(found.evaluation) : null,
      found.documents > 0 ? h("button", {type: "button", class: "danger", onclick: take}, "Take back") : null);
      say(`${found.documents} documents would be taken back`);
      heading.focus();
    } catch (error) {
      put(result, failure(error));
    }
  };
  const apply = async (wanted) => {
    try {
      const done = await json("POST", of(info.name, ["undo"]), wanted);
      put(result, h("p", {class: "notice good"}, `${plural(done.documents, "document")} taken back.`));
      say("Taken back.");
      await Promise.all([notes(before, info.name), teachers(who, info.name, look)]);
    } catch (error) {
      put(result, failure(error));
    }
  };
  const submit = (event) => {
    event.preventDefault();
    look(wish());
  };
  put(place, waits, who, h("form", {class: "panel", onsubmit: submit},
    h("p", null, "Every change has a source: the name of the token, the protocol (http, rspamd, spamc), or the name that the client gave."),
    field("Source", source, "Empty: all sources."),
    h("div", {class: "row"}, field("From", from), field("Before", to)),
    h("button", {type: "submit", class: "main"}, "Preview")), result, before);
  await Promise.all([notes(before, info.name), teachers(who, info.name, look), waiting(waits, info.name, () => teachers(who, info.name, look))]);
}
