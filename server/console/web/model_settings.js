// SPDX-License-Identifier: Apache-2.0
// The settings of a model, as openapi.json describes them: each with its explanation. What is changed can be tried
// before it is saved.

import {get, json, model as of} from "./api.js";
import {failure, h, put, say} from "./dom.js";
import {tryOnCopy} from "./model_trial.js";
import {guardLeaving} from "./router.js";

const FIXED = ["preset", "tokenizer"]; // decided by the first document
// What people change first is open; the controls of the textbook are last and closed.
const GROUPS = [["Verdicts and history", ["unsure_band", "min_known", "thresholds", "label_set", "optimize", "precision", "cost_fp", "cost_fn", "ready_documents", "history", "history_days", "history_subject"]],
  ["Ageing and duplicates", ["max_age", "max_documents", "near_duplicates", "near_duplicate_similarity", "near_duplicate_window", "evaluation_short", "evaluation_long"]],
  ["Parent and fields", ["parent", "parent_strength", "fields", "new_fields"]]];
const BOOK = ["By the textbook", ["decision", "event_model", "estimate", "predict", "smoothing", "prior", "min_count", "skip_top", "max_term_count", "structure", "number", "calibration"]];
const SECONDS = ["max_age"]; // written as "30 d"
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

const typesOf = (schema) => [schema.type ?? []].flat();

// Seconds as people write them: in the largest unit that leaves no rest.
function spanText(seconds) {
  const [unit, size] = UNITS.find(([, one]) => seconds % one === 0);
  return seconds === 0 ? "0" : `${seconds / size} ${unit}`;
}

function readSpan(text) {
  const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const size = unit === "" ? 1 : UNITS.find(([one]) => one[0] === unit?.[0]?.toLowerCase())?.[1];
  if (amount === undefined || size === undefined) throw new Error(`"${text}" is no span of time; write "30 d", "12 h", "10 min" or "45 s"`);
  return Math.round(Number(amount) * size);
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${JSON.stringify(text)} cannot be read; write it as JSON: {"spam": 2} for labels with numbers, null for none`);
  }
}

// The input of a setting, and how it is read back.
function inputOf(name, schema, value) {
  const types = typesOf(schema);
  if (SECONDS.includes(name)) return {input: h("input", {value: spanText(value), autocomplete: "off"}), read: (input) => readSpan(input.value)};
  if (schema.enum) return {input: h("select", {value}, schema.enum.map((one) => h("option", {value: one}, String(one)))), read: (input) => input.value};
  if (types.includes("boolean")) return {input: h("input", {type: "checkbox", checked: value}), read: (input) => input.checked};
  if (types.includes("integer") || types.includes("number")) {
    const step = types.includes("integer") ? 1 : "any";
    return {input: h("input", {type: "number", value: String(value), min: schema.minimum, max: schema.maximum, step, required: true}), read: (input) => Number(input.value)};
  }
  if (types.includes("string")) return {input: h("input", {value: value ?? "", pattern: undefined}), read: (input) => input.value || null};
  return {input: h("input", {value: JSON.stringify(value), spellcheck: "false", class: "wide"}), read: (input) => readJson(input.value)};
}

function describe(name, schema) {
  const standard = schema["x-default"];
  // What stands between backticks is code.
  const text = schema.description.split("`").map((part, i) => (i % 2 ? h("code", null, part) : part));
  return [text, standard === undefined || standard === null ? null : ` Default: ${SECONDS.includes(name) ? spanText(standard) : typeof standard === "string" ? standard : JSON.stringify(standard)}.`];
}

// One setting: {node, read}.
function setting(name, schema, value) {
  const {input, read} = inputOf(name, schema, value);
  input.id = `setting-${name}`;
  input.setAttribute("aria-describedby", `setting-${name}-hint`);
  return {name, input, read: () => {
    try {
      return read(input);
    } catch (error) {
      throw new Error(`${name}: ${error.message}.`);
    }
  }, node: h("div", {class: "field setting"}, h("label", {for: input.id}, name), input, h("p", {class: "hint", id: `setting-${name}-hint`}, describe(name, schema)))};
}

function grouped(described, current) {
  const known = [...GROUPS, BOOK];
  const named = new Set([...known.flatMap(([, names]) => names), ...FIXED]);
  const others = Object.keys(described).filter((name) => !named.has(name) && name in current);
  const there = ([title, names]) => [title, names.filter((name) => name in current && described[name])];
  return [...GROUPS.map(there), ["Evidence and others", others], there(BOOK)];
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const written = (all) => all.map(({input}) => (input.type === "checkbox" ? input.checked : input.value));

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
      saved = written(all);
      put(told, h("p", {class: "notice good"}, `Saved: ${Object.keys(changes).join(", ")}.`),
        (reply.warnings ?? []).map((one) => h("p", {class: "notice warn", role: "alert"}, `${one}.`)));
      say("Saved.");
    });
  };
  const form = h("form", {class: "panel", onsubmit: save}, grouped(described, current).filter(([, names]) => names.length > 0).map(fieldset),
    h("p", {class: "hint"}, `Fixed with the first document: preset ${current.preset}, tokenizer ${JSON.stringify(current.tokenizer)}.`),
    h("div", {class: "row"}, h("button", {type: "button", onclick: () => attempt((changes) => tryOnCopy(told, info, {...current, ...changes}))}, "Try it on a copy"),
      h("button", {type: "submit", class: "main"}, "Save")), told);
  put(place, form);
  // What is not saved does not go unasked, to another view or with the tab.
  let saved = written(all);
  const isUnsaved = () => !isSame(written(all), saved);
  const beforeUnload = (event) => {
    if (form.isConnected && isUnsaved()) event.preventDefault();
  };
  window.addEventListener("beforeunload", beforeUnload);
  guardLeaving(() => {
    const may = !isUnsaved() || window.confirm("The settings have changes that are not saved. Leave them?");
    if (may) window.removeEventListener("beforeunload", beforeUnload);
    return may;
  });
}
