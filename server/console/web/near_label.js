// SPDX-License-Identifier: Apache-2.0
// A guard against labels, and names of models, that are taken for each other: spam, Spam, spma, and spam with an invisible
// character. The rule is the daemon's and bayesc's (core/base/label/difference.h).

import {h, put} from "./dom.js";
import {count} from "./format.js";

// A label as the daemon keeps it: composed, without blanks around it. What is no text is left to the daemon.
export const labelOf = (label) => (typeof label === "string" ? label.normalize("NFC").trim() : label);

// The labels of a text, separated by ";", each once; and such a text for people.
export const splitLabels = (text) => [...new Set(text.split(";").map(labelOf).filter(Boolean))];
export const labelsText = (labels) => labels.join("; ") || "none of the labels";

// A label without its case and its invisible characters (Unicode: NFKC, default ignorable code points).
// Upper case comes first as it has the full mappings: STRASSE is the upper case of both straße and strasse.
function seen(label) {
  const visible = label.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return visible.toUpperCase().toLowerCase().normalize("NFKC").trim();
}

const SHORT_MOST = 2, LONG_LEAST = 6, NEAR_MOST = 64; // bytes
const lower = (text) => [...new TextEncoder().encode(text)].slice(0, NEAR_MOST).map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));

// The Damerau-Levenshtein distance in its restricted form (optimal string alignment), in bytes.
function distance(a, b) {
  let [before, last] = [[], b.map((_, k) => k).concat(b.length)];
  for (let i = 1; i <= a.length; i++) {
    const now = [i];
    for (let k = 1; k <= b.length; k++) {
      now[k] = Math.min(now[k - 1] + 1, last[k] + 1, last[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1));
      if (i > 1 && k > 1 && a[i - 1] === b[k - 2] && a[i - 2] === b[k - 1]) now[k] = Math.min(now[k], before[k - 2] + 1);
    }
    [before, last] = [last, now];
  }
  return last[b.length];
}

// Whether one label is probably a typing error for the other. Labels that differ in their numbers alone are not.
export function isNear(one, other) {
  const a = lower(one), b = lower(other), shorter = Math.min(a.length, b.length), most = shorter >= LONG_LEAST ? 2 : 1;
  if (one === other || shorter <= SHORT_MOST || Math.abs(a.length - b.length) > most) return false;
  return one.replace(/[0-9]+/g, "0") !== other.replace(/[0-9]+/g, "0") && distance(a, b) <= most;
}

// The labels of a model that have documents, and those that were agreed on since.
export class KnownLabels {
  // labels: {name: {documents}}, as the API tells them; none of a model that is not there yet.
  constructor(labels) {
    this.documents = new Map(Object.entries(labels ?? {}).filter(([, {documents}]) => documents > 0).map(([name, {documents}]) => [name, documents]));
    this.old = new Map(); // by what is seen of them
    for (const name of this.documents.keys()) this.old.set(seen(name), name);
    this.agreed = new Map([...this.documents.keys()].map((name) => [name, name]));
  }

  // The label to learn instead of a label: itself, or an old one that it is taken for. ask(label, old, documents, how) is
  // called once for a label that differs only `how` from an old one; null means none of the two.
  async agree(given, ask) {
    const label = labelOf(given);
    if (typeof label !== "string" || label === "") return label;
    if (!this.agreed.has(label)) {
      const same = this.old.get(seen(label)), old = same ?? [...this.documents.keys()].find((one) => isNear(one, label));
      const how = same === undefined ? "by one or two letters" : "only by case or by invisible characters";
      const chosen = old === undefined ? label : await ask(label, old, this.documents.get(old) ?? 0, how);
      if (chosen === null) return null;
      this.agreed.set(label, chosen);
      if (same === undefined) this.old.set(seen(label), label);
    }
    return this.agreed.get(label);
  }

  // The same for a document with several labels.
  async agreeAll(given, ask) {
    const agreed = [];
    for (const label of given) {
      const one = await this.agree(label, ask);
      if (one === null) return null;
      agreed.push(one);
    }
    return [...new Set(agreed)];
  }
}

// How a new name differs from the first of the old ones that it may be taken for: {old, how}. Null: from none.
export function nearName(name, names) {
  const same = names.find((one) => seen(one) === seen(name)), old = same ?? names.find((one) => isNear(one, name));
  return old === undefined ? null : {old, how: same === undefined ? "by one or two letters" : "only by case or by invisible characters"};
}

// Asks in `place`. `choices`: [text, answer, class] of each button; the first has the focus. Returns {answer, none}:
// `answer` becomes that of the button, none() answers null.
function ask(place, text, choices) {
  let end;
  const answer = new Promise((resolve) => { end = resolve; });
  const done = (chosen) => {
    put(place);
    end(chosen);
  };
  const buttons = choices.map(([label, chosen, name]) => h("button", {type: "button", class: name, onclick: () => done(chosen)}, label));
  put(place, h("div", {class: "notice warn", role: "alert"}, h("p", null, text), h("div", {class: "row"}, buttons)));
  buttons[0].focus();
  return {answer, none: () => done(null)};
}

// Which of the two labels is meant: `answer` becomes the label, or null for none of them.
export function askLabel(place, label, old, documents, how) {
  const has = documents > 0 ? `, which has ${count(documents)} ${documents === 1 ? "document" : "documents"},` : "";
  return ask(place, `The label ${label} is new. It differs from ${old}${has} ${how}.`,
    [[`Learn as ${old}`, old, "main"], ["Learn as a new label", label], ["Do not learn", null]]);
}

// Which of the two models is meant: becomes its name, or null for none of them.
export function askModel(place, name, {old, how}) {
  return ask(place, `There is no model ${name}. It differs from ${old} ${how}.`,
    [[`Use ${old}`, old, "main"], [`Make the model ${name}`, name], ["Cancel", null]]).answer;
}
