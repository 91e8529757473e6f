// SPDX-License-Identifier: Apache-2.0
// A guard against labels that are taken for each other: spam, Spam, and spam with a character that nobody sees.

import {h, put} from "./dom.js";
import {count} from "./format.js";

// A label as the daemon keeps it: composed, without blanks around it. What is no text is left to the daemon.
export const labelOf = (label) => (typeof label === "string" ? label.normalize("NFC").trim() : label);

// What is left of a label without its case and what is not seen of it (Unicode: NFKC, default ignorable code points).
// Upper case comes first as it has the full mappings: STRASSE is the upper case of both straße and strasse.
function seen(label) {
  const visible = label.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return visible.toUpperCase().toLowerCase().normalize("NFKC").trim();
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

  // The label to learn instead of a label: itself, or an old one that it is taken for. ask(label, old, documents) is
  // called once a label that differs from an old one by case or by what is not seen alone; null is "none".
  async agree(given, ask) {
    const label = labelOf(given);
    if (typeof label !== "string" || label === "") return label;
    if (!this.agreed.has(label)) {
      const old = this.old.get(seen(label));
      const chosen = old === undefined ? label : await ask(label, old, this.documents.get(old) ?? 0);
      if (chosen === null) return null;
      this.agreed.set(label, chosen);
      if (old === undefined) this.old.set(seen(label), label);
    }
    return this.agreed.get(label);
  }
}

// Asks in `place` which of the two is meant; `answer` of what is returned is the label, or null for none of them, and
// `none()` says that from elsewhere.
export function askLabel(place, label, old, documents) {
  let end;
  const answer = new Promise((resolve) => { end = resolve; });
  const done = (chosen) => {
    put(place);
    end(chosen);
  };
  const has = documents > 0 ? `, which has ${count(documents)} ${documents === 1 ? "document" : "documents"},` : "";
  const button = (text, chosen, name) => h("button", {type: "button", class: name, onclick: () => done(chosen)}, text);
  const first = button(`Learn as ${old}`, old, "main");
  put(place, h("div", {class: "notice warn", role: "alert"},
    h("p", null, `The label ${label} is new. It differs from ${old}${has} only by case or by characters that are not seen.`),
    h("div", {class: "row"}, first, button("Learn as a new label", label), button("Do not learn", null))));
  first.focus();
  return {answer, none: () => done(null)};
}
