// SPDX-License-Identifier: Apache-2.0
// Export, backup, copies; models made and deleted.

import {json, model as of, send} from "./api.js";
import {download, failure, field, h, put, say} from "./dom.js";
import {question} from "./model_labels.js";
import {agreeModel} from "./models.js";
import {address} from "./router.js";

const PRESETS = [["text", "for plain texts"], ["mail", "for mails, with all their fields"], ["book", "the textbook to the letter"]];
const LABEL_SETS = [["one", "one"], ["several", "any number"]];

// A form that makes a model; then its page is shown.
export function maker() {
  const name = h("input", {required: true, pattern: "[A-Za-z0-9][A-Za-z0-9._@+\\-]{0,127}", autocomplete: "off", spellcheck: "false"});
  const preset = h("select", {value: "text"}, PRESETS.map(([value, text]) => h("option", {value}, `${value}: ${text}`)));
  const labelSet = h("select", {value: "one"}, LABEL_SETS.map(([value, text]) => h("option", {value}, text)));
  const told = h("div");
  return h("form", {class: "panel", onsubmit: async (event) => {
    event.preventDefault();
    try {
      const agreed = await agreeModel(told, name.value);
      if (agreed === name.value) await send("PUT", of(agreed), {body: JSON.stringify({preset: preset.value, label_set: labelSet.value}), type: "application/json"});
      if (agreed !== null) location.hash = address("train", agreed);
    } catch (error) {
      put(told, failure(error));
    }
  }}, h("h2", null, "A new model"), h("div", {class: "row"}, field("Name", name), field("Preset", preset), field("Labels of a document", labelSet)), told, h("button", {type: "submit"}, "Create model"));
}

function copier(info) {
  const name = h("input", {required: true, autocomplete: "off", spellcheck: "false"});
  const strength = h("input", {type: "number", min: 1, max: 1000000000, step: 1, id: "strength"});
  const told = h("div");
  return h("form", {class: "panel", onsubmit: async (event) => {
    event.preventDefault();
    try {
      const agreed = await agreeModel(told, name.value);
      if (agreed === null) return;
      if (agreed !== name.value) return void (location.hash = address("model", agreed));
      await send("POST", of(name.value, ["from", info.name], {strength: strength.value}));
      put(told, h("p", {class: "notice good"}, h("a", {href: address("model", name.value)}, name.value), " is created."));
      say("Created.");
    } catch (error) {
      put(told, failure(error));
    }
  }}, h("h2", null, "A copy that goes on learning"),
  field("Name", name, "The copy begins with what this model knows. From then on each learns for itself."),
  field("Weight in documents, at most", strength, `Empty: all that ${info.name} has learned. With a number, a frozen copy becomes the new model's parent, and matters less as the model learns.`), told, h("button", {type: "submit"}, "Create model"));
}

export function show(place, info) {
  const told = h("div");
  const attempt = async (what) => {
    put(told, h("p", {class: "notice", role: "status"}, "Working ..."));
    try {
      await what();
      put(told);
    } catch (error) {
      put(told, failure(error));
    }
  };
  const keep = (method, path, file, type) => attempt(async () => download(file, await (await send(method, path)).blob(), type));
  const day = () => new Date().toISOString().slice(0, 10);
  const file = h("input", {type: "file", id: "import", hidden: true, onchange: () => question(`Replace ${info.name} by ${file.files[0].name}?`, "Replace it",
    () => attempt(async () => {
      await send("PUT", of(info.name, ["import"]), {body: file.files[0], type: "application/x-ndjson"});
      say("Imported.");
      window.dispatchEvent(new Event("hashchange")); // the view, anew
    }))});
  const remove = () => question(`Delete ${info.name} and all that it has learned?`, `Delete ${info.name}`, () => attempt(async () => {
    await json("DELETE", of(info.name));
    location.hash = address("overview");
  }));
  put(place, told,
    h("section", {class: "panel"}, h("h2", null, "Export"), h("p", null, "The whole model as NDJSON. An import gives a model that scores the same and goes on learning."),
      h("div", {class: "row"}, h("button", {type: "button", class: "main", onclick: () => keep("GET", of(info.name, ["export"]), `${info.name}-${day()}.ndjson`, "application/x-ndjson")}, "Export"),
        h("button", {type: "button", onclick: () => file.click()}, "Import and replace"), file)),
    h("section", {class: "panel"}, h("h2", null, "Backup"), h("p", null, "The whole store, with all models and networks, for bayesd --restore."),
      h("button", {type: "button", onclick: () => keep("POST", "v1/backup", `bayesd-${day()}.backup`, "application/octet-stream")}, "Back up the store")),
    copier(info), maker(),
    h("section", {class: "panel"}, h("h2", null, "Delete"), h("button", {type: "button", class: "danger", onclick: remove}, `Delete ${info.name}`)));
}
