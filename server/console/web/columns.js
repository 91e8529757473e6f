// SPDX-License-Identifier: Apache-2.0
// Which column of a table is what: guessed from its name and its first rows, put right by the user, by sight.

import {field, h} from "./dom.js";
import {NOT_A_NUMBER, valueOf} from "./field_values.js";
import {splitLabels} from "./near_label.js";

const TEXT = /^(text|body|message|content|description|title|subject|summary|comment|mail)s?$/i;
const LABEL = /^(label|class|category|target|tag|queue|type|topic)$/i;
const LABELS = /^(labels?|class(es)?|categor(y|ies)|tags?|topics?|types?)$/i;
const ID = /^(id|key|number|ticket|message-?id|uuid)$/i;

function mean(rows, i) {
  return rows.reduce((sum, row) => sum + (row[i] ?? "").length, 0) / Math.max(1, rows.length);
}

function guess(head, rows, fields, isSeveral) {
  const label = isSeveral ? LABELS : LABEL;
  const roles = head.map((name) => (fields[name] ? `field:${name}` : TEXT.test(name) ? "text" : label.test(name) ? "label" : ID.test(name) ? "id" : ""));
  const only = (role) => roles.forEach((one, i) => { if (one === role && roles.indexOf(role) < i) roles[i] = ""; });
  only("label");
  only("id");
  const free = head.map((_, i) => i).filter((i) => roles[i] === "");
  free.sort((a, b) => mean(rows, b) - mean(rows, a));
  if (!roles.some((role) => role === "text" || role.startsWith("field:")) && free.length > 0) roles[free.shift()] = "text";
  if (!roles.includes("label") && free.length > 0) roles[free.pop()] = "label"; // the shortest
  return roles;
}

// What a row says: {document} or {error}.
function toDocument(row, separator, roles, fields, isSeveral) {
  const document = {}, texts = [], values = {};
  if (isSeveral && roles.includes("label")) document.labels = [];
  for (const [i, role] of roles.entries()) {
    const cell = (row[i] ?? "").trim();
    if (role === "" || cell === "") continue;
    if (role === "text") texts.push(cell);
    else if (role.startsWith("field:")) values[role.slice(6)] = valueOf(cell, fields[role.slice(6)], separator);
    else if (role === "label" && isSeveral) document.labels = splitLabels(cell);
    else document[role] = cell;
  }
  if (Object.values(values).some((value) => Number.isNaN(value))) return {error: NOT_A_NUMBER};
  if (texts.length > 0) document.text = texts.join("\n");
  if (Object.keys(values).length > 0) document.values = values;
  return document.text || document.values ? {document} : {error: "the row has no text"};
}

// The choice, as {node, read: () => {hasHeader, toDocument}, hasLabel: () => bool}. fields: those of the model, {name: kind};
// isSeveral: a document has several labels, in one column.
export function columnChoice(rows, fields, isSeveral, onchange) {
  const width = Math.max(...rows.map((row) => row.length));
  const head = Array.from({length: width}, (_, i) => (rows[0][i] ?? "").replace(/^\uFEFF/, ""));
  const roles = guess(head, rows.slice(1), fields, isSeveral);
  const header = h("input", {type: "checkbox", id: "has-header", checked: true});
  const options = [["", "not used"], ["text", "text"], ["label", isSeveral ? "labels" : "label"], ["id", "id"], ...Object.keys(fields).map((name) => [`field:${name}`, `field ${name}`])];
  const choice = (name, i) => h("select", {"aria-label": `Column ${name || i + 1} is`, value: roles[i], onchange: (event) => {
    roles[i] = event.target.value;
    onchange();
  }}, options.map(([value, text]) => h("option", {value}, text)));
  const cell = (text) => h("td", null, text && text.length > 60 ? `${text.slice(0, 60)}…` : text ?? "");
  const node = h("section", null, h("h3", null, "What the columns are"),
    h("p", null, header, " ", h("label", {for: "has-header"}, "The first row names the columns")),
    h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "The first rows"}, h("table", null, h("caption", null, "The first rows"),
      h("thead", null, h("tr", null, head.map((name) => h("th", {scope: "col"}, name || "-"))), h("tr", null, head.map((name, i) => h("td", null, choice(name, i))))),
      h("tbody", null, rows.slice(1, 6).map((row) => h("tr", null, head.map((_, i) => cell(row[i]))))))));
  return {node, hasLabel: () => roles.includes("label"), read: () => ({hasHeader: header.checked, toDocument: (row, separator) => toDocument(row, separator, roles, fields, isSeveral)})};
}

export const labelField = (input, isSeveral) => (isSeveral ? field("Labels", input, "Separated by \";\"; of every document that brings none itself. In a table they are a column, separated so, too.")
  : field("Label", input, "Of every document that brings none itself."));
