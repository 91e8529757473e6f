// SPDX-License-Identifier: Apache-2.0
// The settings of a model, as openapi.json describes them: each with its explanation. What is changed can be tried
// before it is saved.

import {get, json, model as of} from "./api.js";
import {failure, h, put, say} from "./dom.js";
import {tryOnCopy} from "./model_trial.js";

const FIXED = ["preset", "tokenizer"]; // decided by the first document
const GROUPS = [["Decision", ["decision", "event_model", "estimate", "predict", "smoothing", "prior", "min_count", "skip_top", "max_term_count", "structure", "number", "calibration"]],
  ["Verdicts", ["unsure_band", "ready_documents"]],
  ["Ageing and duplicates", ["max_age", "max_documents", "near_duplicates", "near_duplicate_similarity", "near_duplicate_window", "evaluation_short", "evaluation_long"]],
  ["Parent and fields", ["parent", "parent_strength", "fields", "new_fields"]]];

const typesOf = (schema) => [schema.type ?? []].flat();

// The input of a setting, and how it is read back.
function inputOf(name, schema, value) {
  const types = typesOf(schema);
  if (schema.enum) return {input: h("select", {value}, schema.enum.map((one) => h("option", {value: one}, String(one)))), read: (input) => input.value};
  if (types.includes("boolean")) return {input: h("input", {type: "checkbox", checked: value}), read: (input) => input.checked};
  if (types.includes("integer") || types.includes("number")) {
    const step = types.includes("integer") ? 1 : "any";
    return {input: h("input", {type: "number", value: String(value), min: schema.minimum, max: schema.maximum, step, required: true}), read: (input) => Number(input.value)};
  }
  if (types.includes("string")) return {input: h("input", {value: value ?? "", pattern: undefined}), read: (input) => input.value || null};
  return {input: h("input", {value: JSON.stringify(value), spellcheck: "false", class: "wide"}), read: (input) => JSON.parse(input.value)};
}

function describe(schema) {
  const standard = schema["x-default"];
  return [schema.description, standard === undefined || standard === null ? null : ` Default: ${typeof standard === "string" ? standard : JSON.stringify(standard)}.`];
}

// One setting: {node, read}.
function setting(name, schema, value) {
  const {input, read} = inputOf(name, schema, value);
  input.id = `setting-${name}`;
  input.setAttribute("aria-describedby", `setting-${name}-hint`);
  return {name, read: () => {
    try {
      return read(input);
    } catch {
      throw new Error(`${name} is not JSON`);
    }
  }, node: h("div", {class: "field setting"}, h("label", {for: input.id}, name), input, h("p", {class: "hint", id: `setting-${name}-hint`}, describe(schema)))};
}

function grouped(described, current) {
  const named = new Set([...GROUPS.flatMap(([, names]) => names), ...FIXED]);
  const others = Object.keys(described).filter((name) => !named.has(name) && name in current);
  return [...GROUPS.map(([title, names]) => [title, names.filter((name) => name in current && described[name])]),
    ["Evidence and others", others]];
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export async function show(place, info) {
  const described = (await get("openapi.json")).components.schemas.Settings.properties;
  const current = info.settings;
  const all = [];
  const told = h("div", {class: "told"});
  const fieldset = ([title, names], i) => {
    const members = names.map((name) => setting(name, described[name], current[name]));
    all.push(...members);
    return h("details", {open: i === 0}, h("summary", null, title), members.map((one) => one.node));
  };
  const changed = () => Object.fromEntries(all.map((one) => [one.name, one.read()]).filter(([name, value]) => !isSame(value, current[name])));
  const attempt = async (what) => {
    try {
      const changes = changed();
      if (Object.keys(changes).length === 0) return void put(told, h("p", {class: "notice"}, "No setting was changed."));
      await what(changes);
    } catch (error) {
      put(told, failure(error));
    }
  };
  const save = (event) => {
    event.preventDefault();
    attempt(async (changes) => {
      const {settings} = await get(of(info.name)); // what others have changed stays; a model that is gone is not made anew
      const reply = await json("PUT", of(info.name), {...settings, ...changes});
      Object.assign(current, reply.settings);
      put(told, h("p", {class: "notice good"}, `Saved: ${Object.keys(changes).join(", ")}.`));
      say("Saved.");
    });
  };
  const form = h("form", {class: "panel", onsubmit: save}, grouped(described, current).filter(([, names]) => names.length > 0).map(fieldset),
    h("p", {class: "hint"}, `Fixed with the first document: preset ${current.preset}, tokenizer ${JSON.stringify(current.tokenizer)}.`),
    h("div", {class: "row"}, h("button", {type: "button", onclick: () => attempt((changes) => tryOnCopy(told, info, {...current, ...changes}))}, "Try it on a copy"),
      h("button", {type: "submit", class: "main"}, "Save")), told);
  put(place, form);
}
