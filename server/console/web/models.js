// SPDX-License-Identifier: Apache-2.0
// The models that there are, and choosing one of them.

import {get, path} from "./api.js";
import {field, h} from "./dom.js";
import {address} from "./router.js";

const MOST = 500;
let last = null; // the model that was shown last

export async function list(after) {
  return get(path(["v1", "models"], {limit: MOST, after}));
}

// Labels of a model by their documents, most first.
export function labelsOf(model) {
  return Object.entries(model.labels ?? {}).sort((a, b) => b[1].documents - a[1].documents || (a[0] < b[0] ? -1 : 1));
}

export const lastModel = () => last;

// The name of the model that a view is of: that of the address, or the one shown last, or the first. Null: there are
// none. A view of a model that need not be there gets `newName` then.
export async function choose(view, rest, {canBeNew = false, newName = null} = {}) {
  const {models, next} = await list();
  const names = models.map((model) => model.name);
  const isKnown = (name) => name && (names.includes(name) || next || canBeNew);
  const name = isKnown(rest[0]) ? rest[0] : names.includes(last) ? last : names[0] ?? newName;
  last = name ?? last;
  return {name, names, hasMore: Boolean(next), picker: picker(view, name, names, Boolean(next) || canBeNew)};
}

function picker(view, name, names, isOpen) {
  const go = (event) => {
    const wanted = event.target.value.trim();
    if (wanted) location.hash = address(view, wanted);
  };
  if (isOpen) {
    const known = h("datalist", {id: "models"}, names.map((one) => h("option", {value: one})));
    const input = h("input", {class: "long", list: "models", value: name ?? "", onchange: go, spellcheck: "false", autocomplete: "off"});
    return h("div", null, field("Model", input), known);
  }
  return field("Model", h("select", {value: name, onchange: go}, names.map((one) => h("option", {value: one}, one))));
}

// The labels that may be typed into inputs with list="NAME"; a browser is slow with more.
const LISTED_MOST = 1000;

export function labelList(name, labels) {
  return h("datalist", {id: name}, labels.slice(0, LISTED_MOST).map((label) => h("option", {value: label})));
}

// Whether the daemon can say what a model would make of each of its documents without it.
export const judgesWithout = ({settings}) => settings.decision === "stacked" || !settings.parent;

// What is said where there is no model at all.
export function nothing() {
  return h("p", {class: "notice"}, "There is no model yet. ", h("a", {href: address("train")}, "Train one"), " with documents of two labels.");
}
