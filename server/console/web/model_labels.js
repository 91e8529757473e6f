// SPDX-License-Identifier: Apache-2.0
// The labels of a model: renamed, merged, deleted, and the words with the most evidence for one.

import {may} from "./access.js";
import {get, json, model as of} from "./api.js";
import {failure, field, h, put, say, table} from "./dom.js";
import {count, evidence, plural} from "./format.js";
import {kindOf} from "./evidence.js";
import {hasSeveral, labelsOf} from "./models.js";

const WORDS = 40, COLUMNS = 6, ROWS = 100;

// Asks in a dialog. The second button is the one that changes something.
export function question(text, yes, act, kind = "danger") {
  const dialog = h("dialog", {"aria-label": text, onclose: () => dialog.remove()}, h("p", null, text),
    h("div", {class: "row"}, h("button", {type: "button", onclick: () => dialog.close()}, "Cancel"),
      h("button", {type: "button", class: kind, onclick: () => {
        dialog.close();
        act();
      }}, yes)));
  document.body.append(dialog);
  dialog.showModal();
}

async function words(place, info, label) {
  const {tokens} = await get(of(info.name, ["vocabulary"], {label, limit: WORDS}));
  const labels = labelsOf(info).map(([name]) => name).slice(0, COLUMNS);
  const fields = Object.keys(info.settings.fields);
  const title = h("h2", {tabindex: -1}, `Strongest words for ${label}`);
  put(place, title, table(`Words with the most evidence for ${label}`, [{name: "Word"}, {name: "Kind"}, {name: "Evidence", number: true},
    ...labels.map((name) => ({name: `In ${name}`, number: true}))],
  tokens.map((row) => [row.token, kindOf(row.token, fields), evidence(row.evidence), ...labels.map((name) => count(row.counts[name] ?? 0))])));
  title.focus();
}

export function show(place, info) {
  const below = h("div"), told = h("div");
  const attempt = async (what, done) => {
    try {
      await what();
      const now = await get(of(info.name));
      show(place, now);
      place.prepend(h("p", {class: "notice good"}, done));
      say(done);
    } catch (error) {
      put(told, failure(error));
    }
  };
  const rename = (label) => {
    const name = h("input", {value: label, maxlength: 64, required: true});
    const form = h("form", {class: "row", onsubmit: (event) => {
      event.preventDefault();
      attempt(() => json("PATCH", of(info.name, ["labels", label]), {name: name.value}), `${label} is ${name.value} now.`);
    }}, field(`New name of ${label}`, name), h("button", {type: "submit", class: "main"}, "Save the name"));
    put(below, form);
    name.select();
  };
  const merge = (label) => {
    const into = h("select", null, labelsOf(info).map(([name]) => name).filter((name) => name !== label).map((name) => h("option", {value: name}, name)));
    const form = h("form", {class: "row", onsubmit: (event) => {
      event.preventDefault();
      attempt(() => json("PATCH", of(info.name, ["labels", label]), {name: into.value, merge: true}), `The documents of ${label} are ${into.value} now.`);
    }}, field(`All documents of ${label} become`, into), h("button", {type: "submit", class: "main"}, "Merge them"));
    put(below, form);
    into.focus();
  };
  const isSeveral = hasSeveral(info);
  const remove = (label, documents) => {
    const [ask, done] = isSeveral ? [`Take the label ${label} from its ${plural(documents, "document")}? They stay, with their other labels.`, `No document is ${label} any more.`]
      : [`Forget all ${count(documents)} documents of ${label}? The model will be as if it had never learned them.`, `The documents of ${label} are forgotten.`];
    question(ask, `Forget ${label}`, () => attempt(() => json("DELETE", of(info.name, ["labels", label])), done));
  };
  const buttons = (label, documents) => h("span", {class: "row"},
    isSeveral ? null : h("button", {type: "button", class: "quiet", "aria-label": `Words of ${label}`, onclick: () => words(below, info, label).catch((error) => put(told, failure(error)))}, "Words"),
    !may("admin") ? null : [h("button", {type: "button", class: "quiet", "aria-label": `Rename ${label}`, onclick: () => rename(label)}, "Rename"),
    labelsOf(info).length > 1 ? h("button", {type: "button", class: "quiet", "aria-label": `Merge ${label}`, onclick: () => merge(label)}, "Merge") : null,
    h("button", {type: "button", class: "quiet danger", "aria-label": `Forget ${label}`, onclick: () => remove(label, documents)}, "Forget")]);
  put(place, told, rowsOf(labelsOf(info), buttons), below);
}

// The table of the labels; of many only the first ones, and those whose name contains the typed text.
function rowsOf(labels, buttons) {
  const shown = h("div"), left = h("p", {class: "hint", role: "status"});
  const draw = (part) => {
    const found = labels.filter(([label]) => label.includes(part));
    put(shown, table("Labels", [{name: "Label"}, {name: "Documents", number: true}, {name: "Words", number: true, aside: true}, {name: "Actions"}],
      found.slice(0, ROWS).map(([label, {documents, tokens}]) => [label, count(documents), count(tokens), buttons(label, documents)])));
    left.textContent = found.length > ROWS ? `And ${plural(found.length - ROWS, "label")} with fewer documents.` : "";
  };
  draw("");
  if (labels.length <= ROWS) return shown;
  return [field("Filter labels", h("input", {type: "search", id: "label-search", autocomplete: "off", oninput: (event) => draw(event.target.value)})), shown, left];
}
