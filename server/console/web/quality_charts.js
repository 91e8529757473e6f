// SPDX-License-Identifier: Apache-2.0
// The pictures of Quality. Each says in words what it shows, and can be saved as SVG.

import {dot, figure, frame, line} from "./chart.js";
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
    xDomain: [least, 1], yDomain: [0, 1], xTicks: ticks, yTicks: SHARES, xLog: true}, (x, y) => {
    const chance = Array.from({length: 41}, (_, i) => least ** (i / 40)).map((rate) => [rate, rate]);
    const steps = points.flatMap((point, i) => (i === 0 ? [point] : [[point[0], points[i - 1][1]], point]));
    return [line(chance, x, y, "ideal"), line(steps, x, y), s("text", {class: "area", x: x(1) - 8, y: y(0) - 12, "text-anchor": "end"}, area)];
  });
  return figure(`${name}-roc`, svg, `${area}. The dashed line is chance; ${count(negatives)} others, so that one of them is ${percent(1 / Math.max(1, negatives))}.`);
}

// The numbers of dots, from left to right: above each, or below where the frame ends; and further away where one would
// lie upon the number before it.
function counted(dots) {
  const HIGH = 13, WIDE = 8; // of a letter
  let last = null;
  return dots.map(({text, x, y, radius}) => {
    const isAbove = y > 40, step = isAbove ? -HIGH : HIGH;
    let at = isAbove ? y - radius - 5 : y + radius + HIGH;
    if (last && x - last.x < (WIDE * (text.length + last.text.length)) / 2 && Math.abs(at - last.y) < HIGH) at = last.y + step;
    last = {x, y: at, text};
    return s("text", {class: "tick amount", x, y: at, "text-anchor": "middle"}, text);
  });
}

export function reliability(name, one, positive) {
  const bins = one.reliability.filter((bin) => bin.documents > 0);
  if (bins.length === 0) return missing("No document has a score.");
  const most = Math.max(...bins.map((bin) => bin.documents));
  const radius = (bin) => 3 + 7 * Math.sqrt(bin.documents / most);
  const isTwo = Object.keys(one.labels).length === 2;
  const svg = frame({title: `Reliability: in each of 15 bins, the mean probability and the share for which it was right. Calibration error ${percent(one.ece)}.`,
    xName: isTwo ? `Probability of ${brief(positive)}` : "Probability of the verdict", yName: isTwo ? `Share that was ${brief(positive)}` : "Accuracy",
    xDomain: [0, 1], yDomain: [0, 1], xTicks: SHARES, yTicks: SHARES}, (x, y) => [
    line([[0, 0], [1, 1]], x, y, "ideal"), line(bins.map((bin) => [bin.confidence, bin.accuracy]), x, y),
    bins.map((bin) => dot(bin.confidence, bin.accuracy, radius(bin), x, y, `${count(bin.documents)} documents`)),
    counted(bins.map((bin) => ({text: count(bin.documents), x: x(bin.confidence), y: y(bin.accuracy), radius: radius(bin)})))]);
  return figure(`${name}-reliability`, svg, `Calibration error ${percent(one.ece)}. The numbers are documents; on the dashed line probabilities are what they say.`);
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
    xTicks: nice(last).filter(Number.isInteger).map((value) => [value, count(value)]), yTicks: nice(most).map((value) => [value, percent(value)])},
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
