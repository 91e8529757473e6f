// SPDX-License-Identifier: Apache-2.0
// Takes back what a source has taught, after a look at what that would do; and what was taken back before.

import {get, json, model as of} from "./api.js";
import {failure, field, h, put, say, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";
import {question} from "./model_labels.js";

const NOTES = 20;

function figures({now, without}) {
  const rows = [["Documents with a score", now?.documents, without?.documents, count], ["Right", now?.accuracy, without?.accuracy, percent],
    ["False positives", now?.false_positive_rate, without?.false_positive_rate, percent], ["False negatives", now?.false_negative_rate, without?.false_negative_rate, percent],
    ["Log-loss", now?.log_loss, without?.log_loss, number]];
  const show = (value, format) => (value === undefined || value === null ? "-" : format(value));
  return table("The evaluation now and without them", [{name: "Figure"}, {name: "Now", number: true}, {name: "Without", number: true}],
    rows.map(([name, a, b, format]) => [name, show(a, format), show(b, format)]));
}

const labelText = (labels) => Object.entries(labels).map(([label, {documents}]) => `${label} ${count(documents)}`).join(", ");

async function notes(place, name) {
  const {undone} = await get(of(name, ["undo"], {limit: NOTES}));
  if (undone.length === 0) return;
  const what = (note) => [note.label && `label ${note.label}`, note.source !== undefined && `source ${note.source || "(none)"}`, note.ids && plural(note.ids, "id"),
    note.from && `from ${note.from}`, note.to && `to ${note.to}`].filter(Boolean).join(", ");
  put(place, table("What was taken back", [{name: "When"}, {name: "By"}, {name: "What"}, {name: "Documents", number: true}],
    undone.map((note) => [new Date(note.time).toLocaleString(), note.by, what(note), count(note.documents)])));
}

export async function show(place, info) {
  const source = h("input", {maxlength: 64, autocomplete: "off"}), from = h("input", {type: "datetime-local"}), to = h("input", {type: "datetime-local"});
  const result = h("div"), before = h("div");
  const time = (input) => (input.value ? new Date(input.value).toISOString() : undefined);
  const wish = () => ({source: source.value.trim() || undefined, from: time(from), to: time(to)});
  const look = async (event) => {
    event.preventDefault();
    const wanted = wish();
    try {
      const found = await json("POST", of(info.name, ["undo"]), {...wanted, dry_run: true});
      const take = () => question(`Take back ${plural(found.documents, "document")}?`, "Take them back", () => apply(wanted));
      put(result, h("h2", null, "What that would do"), h("p", null, `${plural(found.documents, "document")} would be taken back: ${count(found.forgotten)} forgotten, `,
        `${count(found.restored)} as they were before. ${labelText(found.labels)}`),
      found.evaluation ? figures(found.evaluation) : null,
      found.documents > 0 ? h("button", {type: "button", class: "danger", onclick: take}, "Take them back") : null);
      say(`${found.documents} documents would be taken back`);
    } catch (error) {
      put(result, failure(error));
    }
  };
  const apply = async (wanted) => {
    try {
      const done = await json("POST", of(info.name, ["undo"]), wanted);
      put(result, h("p", {class: "notice good"}, `${plural(done.documents, "document")} taken back.`));
      say("Taken back.");
      await notes(before, info.name);
    } catch (error) {
      put(result, failure(error));
    }
  };
  put(place, h("form", {class: "panel", onsubmit: look},
    h("p", null, "Every change has a source: the name of the token that was shown, the door it came by (http, rspamd, spamc), or what the client says."),
    field("Source", source, "Empty: all sources, of the time below."),
    h("div", {class: "row"}, field("From", from), field("Before", to)),
    h("button", {type: "submit", class: "main"}, "See what it would do")), result, before);
  await notes(before, info.name);
}
