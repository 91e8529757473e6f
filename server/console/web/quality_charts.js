// SPDX-License-Identifier: Apache-2.0
// The pictures of Quality. Each says in words what it shows, and can be saved as SVG.

import {figure, frame, line} from "./chart.js";
import {h, s} from "./dom.js";
import {count, number, percent, plural} from "./format.js";

const SHARES = [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => [value, `${100 * value} %`]);
// A label beside an axis, where there is not room for a long one.
const brief = (label) => (label.length > 16 ? `${label.slice(0, 15)}…` : label);
const missing = (text) => h("p", {class: "notice"}, text);

// The false-positive rate on a logarithmic axis: what counts of a filter happens below one in a hundred.
export function roc(name, one, positive) {
  const points = one.roc.map((point) => [point.false_positive_rate, point.true_positive_rate]);
  if (points.length === 0) return missing("This needs documents of the label and of another one.");
  const negatives = one.documents - (one.labels[positive]?.documents ?? 0);
  const least = 10 ** Math.min(-1, Math.floor(Math.log10(0.5 / Math.max(1, negatives))));
  const ticks = [];
  for (let power = 0; 10 ** power >= least * 0.999; power--) ticks.push([10 ** power, `${number(100 * 10 ** power)} %`]);
  const area = `Area under the curve ${(1 - one.one_minus_roca_percent / 100).toFixed(6)}`;
  const svg = frame({title: `ROC of ${positive}. ${area}.`, xName: "False-positive rate (logarithmic)", yName: `Recall of ${brief(positive)}`,
    xDomain: [least, 1], yDomain: [0, 1], xTicks: ticks, yTicks: SHARES, xLog: true,
    points: points.map(([rate, recall], i) => [rate, recall, `from ${percent(Math.min(1, one.roc[i].threshold))}: recall ${percent(recall)}, false positives ${percent(rate)}`])}, (x, y) => {
    const chance = Array.from({length: 41}, (_, i) => least ** (i / 40)).map((rate) => [rate, rate]);
    const steps = points.flatMap((point, i) => (i === 0 ? [point] : [[point[0], points[i - 1][1]], point]));
    return [line(chance, x, y, "ideal"), line(steps, x, y), s("text", {class: "area", x: x(1) - 8, y: y(0) - 12, "text-anchor": "end"}, area)];
  });
  return figure(`${name}-roc`, svg, `${area}. The dashed line is chance; ${count(negatives)} others, so that one of them is ${percent(1 / Math.max(1, negatives))}.`);
}

// The interval of a share at 95 % (Wilson 1927): it has a meaning for few documents, too.
function interval(share, n) {
  const z = 1.96, middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

// A bar for each bin that has documents, with the interval of its share, and the mean probability on the dashed line.
export function reliability(name, one, positive) {
  const bins = one.reliability.map((bin, i) => ({...bin, low: i / one.reliability.length, high: (i + 1) / one.reliability.length})).filter((bin) => bin.documents > 0);
  if (bins.length === 0) return missing("No document has a score.");
  const isTwo = Object.keys(one.labels).length === 2;
  const told = (bin) => `${percent(bin.accuracy)} of ${plural(bin.documents, "document")}, said ${percent(bin.confidence)}`;
  const svg = frame({title: `Reliability: in each of ${one.reliability.length} bins, the mean probability and the share for which it was right. Calibration error ${percent(one.ece)}.`,
    xName: isTwo ? `Probability of ${brief(positive)}` : "Probability of the verdict", yName: isTwo ? `Share that was ${brief(positive)}` : "Accuracy",
    xDomain: [0, 1], yDomain: [0, 1], xTicks: SHARES, yTicks: SHARES, points: bins.map((bin) => [(bin.low + bin.high) / 2, bin.accuracy, told(bin)])}, (x, y) => [
    bins.map((bin) => {
      const [least, most] = interval(bin.accuracy, bin.documents), middle = (x(bin.low) + x(bin.high)) / 2;
      return [s("rect", {class: "share", x: x(bin.low) + 1, y: y(bin.accuracy), width: x(bin.high) - x(bin.low) - 2, height: y(0) - y(bin.accuracy)}, s("title", null, told(bin))),
        s("line", {class: "whisker", x1: middle, x2: middle, y1: y(least), y2: y(most)}),
        [least, most].map((end) => s("line", {class: "whisker", x1: middle - 4, x2: middle + 4, y1: y(end), y2: y(end)}))];
    }),
    line([[0, 0], [1, 1]], x, y, "ideal")]);
  return figure(`${name}-reliability`, svg, `Calibration error ${percent(one.ece)}. The lines are intervals of 95 %; up to the dashed line probabilities are what they say.`);
}

// ---- confusion ----------------------------------------------------------------------------------

const MATRIX = 440, MATRIX_LABELS = 300; // pixels; labels: those with the most documents

// Of many labels: a square for each pair that occurs. Rows are labels, columns verdicts; what the pointer is on is named.
export function confusionPicture(name, one) {
  const labels = Object.keys(one.labels).sort((a, b) => one.labels[b].documents - one.labels[a].documents).slice(0, MATRIX_LABELS);
  const size = MATRIX / labels.length, place = new Map(labels.map((label, i) => [label, i]));
  const cells = labels.flatMap((label, row) => Object.entries(one.confusion[label] ?? {}).filter(([given, n]) => n > 0 && place.has(given)).map(([given, n]) =>
    s("rect", {class: given === label ? "right" : "wrong", x: place.get(given) * size, y: row * size, width: Math.max(1, size), height: Math.max(1, size),
      "fill-opacity": (0.15 + 0.85 * (n / one.labels[label].documents)).toFixed(3)}, s("title", null, `${label}, verdict ${given}: ${plural(n, "document")} of ${count(one.labels[label].documents)}`))));
  const svg = s("svg", {class: "chart", viewBox: `0 0 ${MATRIX} ${MATRIX}`, role: "img", "aria-label": `Confusion matrix of ${labels.length} labels; the most confused pairs are in the table.`}, cells);
  return figure(`${name}-confusion`, svg, `Rows are labels, columns verdicts, those with the most documents first${labels.length < Object.keys(one.labels).length ? `; the first ${MATRIX_LABELS}` : ""}. Orange is wrong. Point at a square to see which.`);
}

// ---- over time ----------------------------------------------------------------------------------

const nice = (most) => {
  const step = 10 ** Math.floor(Math.log10(most || 1));
  const by = most / step > 5 ? 2 * step : most / step > 2 ? step : step / 2;
  return Array.from({length: Math.floor(most / by) + 1}, (_, i) => i * by);
};

// Each stretch of the documents: where it ends, and its share of errors.
function stretches(progress) {
  let at = 0;
  return progress.map(({documents, errors}) => [(at += documents), errors / documents]);
}

function curve(name, title, progress, points, text) {
  const last = progress.reduce((sum, one) => sum + one.documents, 0);
  const most = Math.max(0.02, ...points.map(([, rate]) => rate));
  const svg = frame({title, xName: "Documents learned", yName: "Wrong verdicts", xDomain: [0, last], yDomain: [0, most * 1.05],
    xTicks: nice(last).filter(Number.isInteger).map((value) => [value, count(value)]), yTicks: nice(most).map((value) => [value, percent(value)]),
    points: points.map(([at, rate]) => [at, rate, `${percent(rate)} wrong at ${count(at)}`])},
  (x, y) => line(points, x, y));
  return figure(name, svg, text);
}

export function overTime(name, progress) {
  const points = stretches(progress);
  const size = progress[0].documents;
  return curve(`${name}-errors`, `Wrong verdicts in ${progress.length} stretches of the documents; in the last one ${percent(points.at(-1)[1])}.`, progress, points,
    `Each point is ${plural(size, "document")}, in the order in which they were learned, judged before that. The last: ${percent(points.at(-1)[1])} wrong.`);
}

// The mean of all so far: what was paid for learning so much.
export function learningCurve(name, progress) {
  let documents = 0, errors = 0;
  const points = progress.map((one) => [(documents += one.documents), (errors += one.errors) / documents]);
  return curve(`${name}-learning`, `Wrong verdicts of all documents so far; of all ${percent(points.at(-1)[1])}.`, progress, points,
    `Of all documents so far, each judged before it was learned: ${percent(points.at(-1)[1])} wrong at the end.`);
}

// The same of a model and its challenger, of the documents that both have judged.
export function bothCurves(name, progress) {
  const so = (key) => {
    let documents = 0, errors = 0;
    return progress.map((one) => [(documents += one.documents), (errors += one[key]) / documents]);
  };
  const model = so("champion_errors"), other = so("challenger_errors"), last = model.at(-1)[0];
  const most = Math.max(0.02, ...[...model, ...other].map(([, rate]) => rate));
  const ends = `${percent(model.at(-1)[1])} of the model, ${percent(other.at(-1)[1])} of the challenger`;
  const svg = frame({title: `Wrong verdicts of both so far; of all ${ends}.`, xName: "Documents judged by both", yName: "Wrong verdicts", xDomain: [0, last], yDomain: [0, most * 1.05],
    xTicks: nice(last).filter(Number.isInteger).map((value) => [value, count(value)]), yTicks: nice(most).map((value) => [value, percent(value)]),
    points: model.map(([at, rate], i) => [at, rate, `at ${count(at)}: model ${percent(rate)}, challenger ${percent(other[i][1])}`])},
  (x, y) => [line(model, x, y), line(other, x, y, "other")]);
  return figure(`${name}-challenger`, svg, `Of all documents so far, each judged before it was learned: ${ends}. Orange is the challenger.`);
}
