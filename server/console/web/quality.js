// SPDX-License-Identifier: Apache-2.0
// The quality of the verdicts: ROC, reliability, errors over time, confusion matrix, and the costs of a threshold.

import {get, model as of} from "./api.js";
import {failure, field, h, put, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";
import {choose, hasSeveral, isUsable, judgesWithout, labelsOf} from "./models.js";
import {challenger} from "./quality_challenger.js";
import {confusionPicture, learningCurve, overTime, reliability, roc} from "./quality_charts.js";
import {severalLabels} from "./quality_labels.js";
import {present, thresholds} from "./quality_threshold.js";

const PAIRS = 20, LABELS_TABLE = 12, LABELS_SHOWN = 100, DRIFT_FAR = 0.25;
const SCORES = [["before-learning", "given before learning"], ["leave-one-out", "leave-one-out, now"]];

const windowName = (one) => (one.window === null ? "all documents" : `the last ${count(one.window)}`);

// How far the recent verdicts are from those before them; null for a model with few verdicts.
function drift({drift: found}) {
  if (!found) return null;
  return h("p", null, `Drift: ${number(found.distance)} (Kolmogorov-Smirnov distance of the last ${count(found.recent)} verdicts from the ${count(found.before)} before them, p ${number(found.p)}). `,
    found.distance > DRIFT_FAR ? h("strong", null, "The documents have changed, or what was taught.") : "Above 0.25 something has changed.");
}

function figures(one, report) {
  const rows = [["Accuracy", percent(one.accuracy)], [`False positives (${report.positive})`, percent(one.false_positive_rate)],
    [`False negatives (${report.positive})`, percent(one.false_negative_rate)], ["1 - AUC (%)", number(one.one_minus_roca_percent)],
    ["Log-loss", number(one.log_loss)], ["Brier score", number(one.brier)], ["Calibration error", percent(one.ece)], ["Macro-F1", number(one.macro_f1)]];
  return table(`Of ${plural(one.documents, "document")}`, [{name: "Figure"}, {name: "Value", number: true}], rows);
}

// A number of documents, shaded by its share of the label.
function shaded(n, documents, isRight) {
  const step = n === 0 ? 0 : Math.max(1, Math.ceil((4 * n) / documents));
  return step === 0 ? "0" : h("span", {class: `shade ${isRight ? "for" : "against"}${step}`}, count(n));
}

// The most confused pairs first, then the whole matrix: in numbers if there are few labels, else as a picture.
function confusion(name, one) {
  const names = Object.keys(one.labels);
  const pairs = one.worst_pairs.slice(0, PAIRS).map((pair) => [pair.label, pair.given, count(pair.documents), percent(pair.documents / one.labels[pair.label].documents)]);
  return h("section", {class: "panel"}, h("h2", null, "Confusion matrix"),
    pairs.length === 0 ? h("p", null, "Every verdict was right.")
      : table("Most confused", [{name: "Label"}, {name: "Verdict"}, {name: "Documents", number: true}, {name: "Share of the label", number: true}], pairs),
    names.length <= LABELS_TABLE ? table("All labels: rows are labels, columns are verdicts", [{name: "Label"}, ...names.map((name) => ({name, number: true}))],
      names.map((truth) => [truth, ...names.map((given) => shaded(one.confusion[truth]?.[given] ?? 0, one.labels[truth].documents, truth === given))])) : confusionPicture(name, one),
    each(one, names));
}

// Of very many labels those with the lowest F1.
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
    report.challenger ? challenger(name, report.challenger, chosen) : null,
    h("section", {class: "panel"}, h("h2", null, "Thresholds"), report.thresholds ? present(report.thresholds) : null,
      thresholds(name, one, report.positive))), confusion(name, one));
}

export async function show(place, rest) {
  const {name, picker, none} = await choose("quality", rest);
  if (name === null) return void put(place, none);
  const info = await get(of(name));
  if (!isUsable(info) || info.documents === 0) return void put(place, picker, h("p", {class: "notice"}, "The model has no evaluation yet: train it."));
  const below = h("div");
  if (hasSeveral(info)) return void put(place, picker, severalLabels(await get(of(name, ["evaluation"]))));
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
  put(place, h("div", {class: "row"}, picker, field("Scores", scores), field("Positive label", positive), field("Documents", span)), below);
  await ask();
}
