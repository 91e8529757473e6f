// SPDX-License-Identifier: Apache-2.0
// The models that there are, and choosing one of them.

import {may} from "./access.js";
import {get, path} from "./api.js";
import {field, h} from "./dom.js";
import {askModel, nearName} from "./near_label.js";
import {address} from "./router.js";

const MOST = 500;
let last = null; // the model that was shown last

export async function list(after) {
  return get(path(["v1", "models"], {limit: MOST, after}));
}

// The name of a model that is to be made: if it is nearly that of one there is, the user is asked in `place` which is meant.
// Becomes the name, that of the old model, or null for none of them.
export async function agreeModel(place, name) {
  const names = [];
  for (let after, page; page === undefined || after; after = page.next) {
    page = await list(after);
    names.push(...page.models.map((model) => model.name));
  }
  const near = names.includes(name) ? null : nearName(name, names);
  return near === null ? name : askModel(place, name, near);
}

// The labels of a model that have documents, those with the most first.
export function labelsOf(model) {
  return Object.entries(model.labels ?? {}).filter(([, {documents}]) => documents > 0).sort((a, b) => b[1].documents - a[1].documents || (a[0] < b[0] ? -1 : 1));
}

// Whether a model can be used: it is neither damaged nor of an older version that is still computed anew.
export const isUsable = (model) => model.state === undefined;

export const whyUnusable = (model) => (model.state === "damaged" ? "This model is damaged. Run \"bayesd --rebuild\", or restore a backup."
  : "An older version has stored this model. Its counts are computed anew, which Overview shows; then it answers again.");

// Whether the documents of a model have several labels each.
export const hasSeveral = (model) => model?.settings?.label_set === "several";

// Stands in place of a view that means nothing for such a model.
export const forOneLabel = () => h("p", {class: "notice"}, "This is for models whose documents have one label each; those of this model have several.");

// The colour of a label's badge: a class that depends on its place among the names alone, so that it stays when counts change.
const TONES = 6;
export const toneOf = (labels, label) => `tone${Math.max(0, [...labels].sort().indexOf(label)) % TONES}`;

export const lastModel = () => last;

// {name, names, picker, none}: the model that a view shows, which is that of the address, or the one shown last, or the
// first. If there is none, or the address has an unknown name, `name` is null and `none` says so. A view of a model that need not exist
// gets `newName` instead.
export async function choose(view, rest, {canBeNew = false, newName = null} = {}) {
  const {models, next} = await list();
  const names = models.map((model) => model.name);
  const isKnown = (name) => name && (names.includes(name) || next || canBeNew);
  if (rest[0] && !isKnown(rest[0]) && names.length > 0) return {name: null, names, none: [picker(view, null, names, false), unknown(rest[0])]};
  const name = isKnown(rest[0]) ? rest[0] : names.includes(last) ? last : names[0] ?? newName;
  last = name ?? last;
  return {name, names, hasMore: Boolean(next), picker: picker(view, name, names, Boolean(next) || canBeNew), none: nothing()};
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
  const first = name === null ? h("option", {value: ""}, "Choose a model") : null;
  return field("Model", h("select", {value: name ?? "", onchange: go}, first, names.map((one) => h("option", {value: one}, one))));
}

const unknown = (name) => h("p", {class: "notice warn", role: "alert"}, `There is no model ${name}.`);

// The labels that may be typed into inputs with list="NAME"; a browser is slow with more.
const LISTED_MOST = 1000;

export function labelList(name, labels) {
  return h("datalist", {id: name}, labels.slice(0, LISTED_MOST).map((label) => h("option", {value: label})));
}

// Whether the daemon has leave-one-out verdicts of the model's documents.
export const judgesWithout = ({settings}) => settings.decision === "stacked" || !settings.parent;

// Shown where there is no model at all.
export function nothing() {
  return h("p", {class: "notice"}, "There is no model yet. ", may("train") ? [h("a", {href: address("train")}, "Train one"), " with documents of two labels."] : null);
}
