// SPDX-License-Identifier: Apache-2.0
// What the documents of a label are like: one that is drawn from P(X | label), and the estimates with intervals.

import {get, model as of} from "./api.js";
import {failure, field, h, put, table} from "./dom.js";
import {count, number} from "./format.js";
import {forOneLabel, hasSeveral, labelsOf} from "./models.js";

const WORDS = 30;

const value = (one) => (Array.isArray(one) ? one.join(", ") : String(one));
const interval = ([from, to]) => [number(from), number(to)];

function drawnText(drawn) {
  const values = Object.entries(drawn.values ?? {}).map(([name, one]) => h("p", null, `${name} = ${value(one)}`));
  return [h("blockquote", {class: "drawn"}, drawn.tokens.join(" ") || h("em", null, "no words"), values),
    h("p", {class: "hint"}, "Word by word from the estimates, by the book: that is what naive Bayes takes a text for.")];
}

function estimates(found) {
  const columns = (name, of) => [{name}, {name: "Count", number: true, aside: true}, {name: `P(${of} | label)`, number: true}, {name: "from", number: true}, {name: "to", number: true}];
  const rows = (list, name) => list.map((one) => [one[name], count(one.count), number(one.probability), ...interval(one.interval)]);
  const prior = `P(label) = ${number(found.prior.probability)}${found.prior.interval ? `, with 95 % from ${interval(found.prior.interval).join(" to ")}` : ""}.`;
  const ofField = (one) => [
    h("p", null, `${one.field} (${one.kind}): ${count(one.documents)} documents, ${count(one.missing)} without it`,
      one.mean === undefined ? "." : `; mean ${number(one.mean)}, standard deviation ${number(one.deviation)}.`),
    one.values?.length > 0 ? table(`Values of ${one.field}`, columns("Value", "value"), rows(one.values, "value")) : null];
  return [h("p", null, prior), table("Most probable words, with 95 % intervals", columns("Word", "word"), rows(found.tokens, "token")), (found.fields ?? []).map(ofField)];
}

export async function show(place, info) {
  if (hasSeveral(info)) return void put(place, forOneLabel());
  const labels = labelsOf(info).filter(([, one]) => one.documents > 0).map(([label]) => label);
  if (labels.length === 0) return void put(place, h("p", {class: "notice"}, "The model has learned nothing yet."));
  const label = h("select", {value: labels[0]}, labels.map((one) => h("option", {value: one}, one)));
  const seed = h("input", {type: "number", value: "0", min: 0, step: 1, required: true}), length = h("input", {type: "number", value: "50", min: 0, max: 1000, step: 1, required: true});
  const temperature = h("input", {type: "number", value: "1", min: 0.05, max: 100, step: "any", required: true});
  const drawn = h("div"), below = h("div");
  const part = async (where, what, draw) => {
    try {
      put(where, draw(await get(what)));
    } catch (error) {
      put(where, failure(error));
    }
  };
  const draw = (event) => {
    event?.preventDefault();
    return Promise.all([
      part(drawn, of(info.name, ["sample"], {label: label.value, seed: seed.value, length: length.value, temperature: temperature.value}), drawnText),
      part(below, of(info.name, ["distribution"], {label: label.value, limit: WORDS, interval: 0.95}), estimates)]);
  };
  label.addEventListener("change", draw);
  put(place, h("form", {class: "panel", onsubmit: draw}, h("div", {class: "row"}, field("Label", label), field("Seed", seed), field("Words", length), field("Temperature", temperature)),
    h("button", {type: "submit", class: "main"}, "Draw"), drawn), below);
  await draw();
}
