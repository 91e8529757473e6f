// SPDX-License-Identifier: Apache-2.0
// How good the verdicts were: ROC, reliability, errors over time, confusion, and what a threshold costs.

import {get, model as of} from "./api.js";
import {failure, field, h, put, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";
import {choose, judgesWithout, labelsOf, nothing} from "./models.js";
import {learningCurve, overTime, reliability, roc} from "./quality_charts.js";
import {thresholds} from "./quality_threshold.js";

const PAIRS = 20, LABELS_TABLE = 12, LABELS_SHOWN = 100, DRIFT_FAR = 0.25;
const SCORES = [["before-learning", "as they were given, before learning"], ["leave-one-out", "as they would be now, without the document"]];

const windowName = (one) => (one.window === null ? "all documents" : `the last ${count(one.window)}`);

// How far the verdicts of late are from those before them; there is none of a model that has judged little.
function drift({drift: found}) {
  if (!found) return null;
  return h("p", null, `Drift: the last ${count(found.recent)} verdicts are ${number(found.distance)} away from the ${count(found.before)} before them, by the test of Kolmogorov and Smirnov (p ${number(found.p)}). `,
    found.distance > DRIFT_FAR ? h("strong", null, "Something else comes in, or something else was taught.") : "From 0.25 on something has changed.");
}

function figures(one, report) {
  const rows = [["Right", percent(one.accuracy)], [`Taken for ${report.positive} wrongly`, percent(one.false_positive_rate)],
    [`${report.positive} that was missed`, percent(one.false_negative_rate)], ["100 (1 - area under ROC)", number(one.one_minus_roca_percent)],
    ["Log-loss", number(one.log_loss)], ["Brier score", number(one.brier)], ["Calibration error", percent(one.ece)], ["Mean F1 of the labels", number(one.macro_f1)]];
  return table(`Of ${plural(one.documents, "document")}`, [{name: "Figure"}, {name: "Value", number: true}], rows);
}

// The worst pairs first, then, for few labels, the whole table.
function confusion(one) {
  const names = Object.keys(one.labels);
  const pairs = one.worst_pairs.slice(0, PAIRS).map((pair) => [pair.label, pair.given, count(pair.documents), percent(pair.documents / one.labels[pair.label].documents)]);
  return h("section", {class: "panel"}, h("h2", null, "What is taken for what"),
    pairs.length === 0 ? h("p", null, "Nothing: every verdict was right.")
      : table("The worst pairs", [{name: "It was"}, {name: "It was taken for"}, {name: "Documents", number: true}, {name: "Of its label", number: true}], pairs),
    names.length <= LABELS_TABLE ? table("The whole table: a row for what it was, a column for what was said", [{name: "It was"}, ...names.map((name) => ({name, number: true}))],
      names.map((truth) => [truth, ...names.map((given) => count(one.confusion[truth]?.[given] ?? 0))])) : null,
    each(one, names));
}

// Of very many labels those that are found worst.
function each(one, names) {
  const worst = names.length > LABELS_SHOWN ? [...names].sort((a, b) => (one.labels[a].f1 ?? 0) - (one.labels[b].f1 ?? 0)).slice(0, LABELS_SHOWN) : names;
  return table(worst === names ? "Each label" : `The ${LABELS_SHOWN} labels of ${count(names.length)} with the lowest F1`, [{name: "Label"}, {name: "Documents", number: true}, {name: "Precision", number: true}, {name: "Recall", number: true}, {name: "F1", number: true}],
    worst.map((name) => [name, count(one.labels[name].documents), percent(one.labels[name].precision), percent(one.labels[name].recall), number(one.labels[name].f1)]));
}

function draw(place, report, chosen, info) {
  const one = report.windows[chosen], {name} = info;
  put(place, h("div", {class: "columns"},
    h("section", {class: "panel"}, figures(one, report), drift(info)),
    h("section", {class: "panel"}, h("h2", null, "ROC"), roc(name, one, report.positive)),
    h("section", {class: "panel"}, h("h2", null, "Reliability"), reliability(name, one, report.positive)),
    report.progress ? h("section", {class: "panel"}, h("h2", null, "Errors over time"), overTime(name, report.progress)) : null,
    report.progress ? h("section", {class: "panel"}, h("h2", null, "Learning curve"), learningCurve(name, report.progress)) : null,
    h("section", {class: "panel"}, h("h2", null, "Thresholds"), thresholds(one, report.positive))), confusion(one));
}

export async function show(place, rest) {
  const {name, picker} = await choose("quality", rest);
  if (name === null) return void put(place, nothing());
  const info = await get(of(name));
  if (info.state === "damaged" || info.documents === 0) return void put(place, picker, h("p", {class: "notice"}, "The model has judged nothing yet that it has learned since: train it."));
  const below = h("div");
  const scores = h("select", {value: SCORES[0][0]}, SCORES.filter(([kind]) => kind === SCORES[0][0] || judgesWithout(info)).map(([value, text]) => h("option", {value}, text)));
  const labels = labelsOf(info).filter(([, one]) => one.documents > 0).map(([label]) => label);
  const positive = h("select", null, labels.map((label) => h("option", {value: label}, label)));
  const span = h("select", null);
  let report = null;
  const ask = async () => {
    try {
      report = await get(of(name, ["evaluation"], {scores: scores.value, positive: report ? positive.value : undefined}));
      positive.value = report.positive;
      const chosen = span.value;
      put(span, report.windows.map((one, i) => h("option", {value: String(i)}, windowName(one))));
      span.value = chosen === "" ? String(report.windows.length - 1) : chosen;
      draw(below, report, Number(span.value), info);
    } catch (error) {
      put(below, failure(error));
    }
  };
  for (const input of [scores, positive]) input.addEventListener("change", ask);
  span.addEventListener("change", () => draw(below, report, Number(span.value), info));
  put(place, h("div", {class: "row"}, picker, field("Scores", scores), field("Positive label", positive), field("Of", span)), below);
  await ask();
}
