// SPDX-License-Identifier: Apache-2.0
// The costs of a threshold: a slider over the points of the ROC, from the lowest threshold to the highest, and the cost of each kind
// of error. Its result is what to write into the configuration or into a request, or becomes the model's setting `thresholds`.

import {may} from "./access.js";
import {get, json, model as of} from "./api.js";
import {failure, field, h, put, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";

// {threshold, falsePositives, falseNegatives} of each point that a probability can reach.
function costsOf(one, positive) {
  const positives = one.labels[positive]?.documents ?? 0, negatives = one.documents - positives;
  return one.roc.filter((point) => point.threshold <= 1).map((point) => ({threshold: point.threshold,
    falsePositives: Math.round(point.false_positive_rate * negatives), falseNegatives: Math.round((1 - point.true_positive_rate) * positives)}))
    .sort((a, b) => a.threshold - b.threshold);
}

// Not rounded up: the threshold itself still has to reach it.
const digits = (threshold) => String(Math.floor(threshold * 1e6) / 1e6);

// What mail software gets at this threshold. Only the model that answers it by default needs no `model`.
function filterLines(name, positive, threshold) {
  return ["[filter]", ...name === "mail" ? [] : [`model = ${name}`], ...positive === "spam" ? [] : [`spam_labels = ${positive}`], `add_header = ${digits(threshold)}`].join("\n");
}

// Makes it the threshold of the label for every decision of the model; those of other labels stay.
async function save(told, name, positive, threshold) {
  try {
    const {settings} = await get(of(name));
    await json("PUT", of(name), {...settings, thresholds: {...settings.thresholds, [positive]: Number(digits(threshold))}});
    put(told, h("p", {class: "notice good"}, `Saved: below ${percent(threshold)} a verdict of ${positive} is decided unsure.`));
  } catch (error) {
    put(told, failure(error));
  }
}

// What the model's setting `thresholds` is at present, as the evaluation tells it.
export function present(set) {
  const rows = Object.entries(set).map(([label, at]) => [label, at.threshold === null ? "never" : percent(at.threshold),
    at.wished_precision ?? "", at.given ? `${percent(at.precision)} of ${count(at.given)}` : ""]);
  return table("Decided from (the setting thresholds)", [{name: "Label"}, {name: "Probability", number: true}, {name: "Wished precision", number: true}, {name: "Precision", number: true}], rows);
}

export function thresholds(name, one, positive) {
  const points = costsOf(one, positive);
  if (points.length === 0) return h("p", {class: "notice"}, "This needs documents of the label and of another one.");
  const slider = h("input", {type: "range", min: 0, max: points.length - 1, step: 1});
  const ofPositive = h("input", {type: "number", min: 0, step: "any", value: "10"}), ofNegative = h("input", {type: "number", min: 0, step: "any", value: "1"});
  const told = h("div", {role: "status"}), saved = h("div", {role: "status"});
  const cost = (point) => Number(ofPositive.value) * point.falsePositives + Number(ofNegative.value) * point.falseNegatives;
  const show = () => {
    const point = points[Number(slider.value)];
    slider.setAttribute("aria-valuetext", `from ${percent(point.threshold)}`);
    put(told, h("p", null, `From ${percent(point.threshold)} on the verdict is ${positive}: `, h("strong", null, plural(point.falsePositives, "false positive")), ", ",
      h("strong", null, plural(point.falseNegatives, "false negative")), ` in ${count(one.documents)} documents. Cost `, h("strong", null, number(cost(point))), "."),
    h("p", {class: "hint"}, `As a request: ?positive=${encodeURIComponent(positive)}&threshold=${digits(point.threshold)}`),
    h("p", {class: "hint"}, "For mail software, in the configuration of bayesd:"), h("pre", {class: "lines", tabindex: 0, "aria-label": "Lines of the configuration"}, filterLines(name, positive, point.threshold)));
  };
  const cheapest = () => {
    const costs = points.map(cost);
    slider.value = String(costs.indexOf(Math.min(...costs)));
    show();
  };
  slider.addEventListener("input", show);
  for (const input of [ofPositive, ofNegative]) input.addEventListener("input", cheapest);
  cheapest();
  return h("div", null, field("Threshold", slider), told,
    h("div", {class: "row"}, field("Cost of a false positive", ofPositive), field("Cost of a false negative", ofNegative),
      h("button", {type: "button", onclick: cheapest}, "Lowest cost"),
      may("admin") ? h("button", {type: "button", onclick: () => save(saved, name, positive, points[Number(slider.value)].threshold)}, "Use for all decisions") : null), saved);
}
