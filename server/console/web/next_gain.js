// SPDX-License-Identifier: Apache-2.0
// The progress by the labels that were given: figures, and pictures of their course.

import {dot, figure, frame, line} from "./chart.js";
import {h} from "./dom.js";
import {number, percent, plural} from "./format.js";

const POINTS_LEAST = 2; // of a course

function picture(name, title, yName, [low, high], points) {
  const last = points.at(-1)[0], middle = (low + high) / 2;
  return figure(`${name}-${yName.toLowerCase().replaceAll(" ", "-")}`, frame({title, xName: "Labels given", yName, xDomain: [0, last], yDomain: [low, high],
    xTicks: [[0, "0"], [last, String(last)]], yTicks: [low, middle, high].map((value) => [value, number(value)])},
  (x, y) => [line(points, x, y), points.map(([a, b]) => dot(a, b, 3, x, y, `${a}: ${number(b)}`))]), title);
}

// The share of the labels given so far that the model had said itself.
function agreement(name, course) {
  let right = 0;
  const points = course.map((isRight, i) => [i + 1, (100 * (right += isRight ? 1 : 0)) / (i + 1)]);
  return picture(name, `The model's verdict was right for ${percent(right / course.length)} of these documents.`, "Verdicts right (%)", [0, 100], points);
}

// The log-loss of all documents with a label.
function losses(name, measures) {
  const values = measures.map((one) => one.loss);
  const [first, last] = [measures[0], measures.at(-1)];
  return picture(name, `Log-loss: ${number(first.loss)} at the beginning, ${number(last.loss)} after ${plural(last.given, "label")}.`, "Log-loss",
    [Math.min(...values) * 0.95, Math.max(...values) * 1.05 || 1], measures.map((one) => [one.given, one.loss]));
}

// measures: [{given, accuracy, loss}], the first one of the beginning; none of a model without such scores. course: of
// each document that was labelled, whether the model had said so. count: their number, for people.
export function gain(name, measures, course, every, count) {
  const [first, last] = [measures[0], measures.at(-1)];
  const others = course.filter((isRight) => !isRight).length;
  return [h("h2", null, "Progress"), h("p", null, `${count}; ${others} of them differ from the model's verdict.`),
    first === undefined ? null : h("p", null, `Accuracy: ${percent(first.accuracy)} at the beginning, ${percent(last.accuracy)} after ${plural(last.given, "label")}. `,
      `Log-loss: ${number(first.loss)}, then ${number(last.loss)}.`),
    h("div", {class: "columns"}, measures.length < POINTS_LEAST ? null : losses(name, measures), course.length < POINTS_LEAST ? null : agreement(name, course)),
    first === undefined ? null : h("p", {class: "hint"}, `Measured every ${every} labels on all labelled documents, each classified by the model without it. The documents shown here are hard ones: the log-loss may rise at first.`)];
}
