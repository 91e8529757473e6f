// SPDX-License-Identifier: Apache-2.0
// Pictures of SVG, by hand: a frame with axes and ticks, and lines in it. What they show is told in words by
// `title`, and stands in a table or figures beside them.

import {download, h, s} from "./dom.js";

const WIDTH = 480, HEIGHT = 300, LEFT = 78, RIGHT = 24, TOP = 14, BOTTOM = 46;

// A scale from [low, high] to pixels; with `log` of the decimal logarithm.
function scale([low, high], from, to, log) {
  const value = log ? (x) => Math.log10(Math.max(x, low)) : (x) => x;
  const a = value(low), b = value(high);
  return (x) => from + ((to - from) * (Math.min(b, Math.max(a, value(x))) - a)) / (b - a || 1);
}

function axes(options, x, y) {
  const {xTicks, yTicks, xName, yName} = options;
  return [
    yTicks.map(([value, text]) => [
      s("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value)}),
      s("text", {class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end"}, text)]),
    xTicks.map(([value, text]) => [
      s("line", {class: "grid", x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - BOTTOM}),
      s("text", {class: "tick", x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle"}, text)]),
    s("text", {class: "name", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle"}, xName),
    s("text", {class: "name", x: -(TOP + HEIGHT - BOTTOM) / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle"}, yName),
  ];
}

// A picture. options: {title, xName, yName, xDomain, yDomain, xTicks, yTicks: [[value, text]], xLog, points: what the pointer finds};
// draw(x, y) gives the elements in the frame, x and y being its scales.
export function frame(options, draw) {
  const x = scale(options.xDomain, LEFT, WIDTH - RIGHT, options.xLog);
  const y = scale(options.yDomain, HEIGHT - BOTTOM, TOP, options.yLog);
  const svg = s("svg", {class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": options.title},
    axes(options, x, y), draw(x, y));
  if (options.points?.length > 0) hover(svg, options.points, x, y);
  return svg;
}

export function line(points, x, y, kind = "") {
  const text = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  return s("polyline", {class: `line ${kind}`, points: text});
}

// What is nearest to the pointer is marked, and its text shown above. points: [[x, y, text]] in the units of the axes. Beside the
// pointer nobody needs it: the figure's text and tables say the same.
function hover(svg, points, x, y) {
  const mark = s("circle", {class: "dot", r: 4, visibility: "hidden"});
  const text = s("text", {class: "amount", y: TOP + 12, "text-anchor": "middle", visibility: "hidden"});
  const places = points.map(([a, b, say]) => ({at: x(a), y: y(b), say}));
  const show = (isShown) => [mark, text].forEach((one) => one.setAttribute("visibility", isShown ? "visible" : "hidden"));
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), at = ((event.clientX - box.left) * WIDTH) / box.width;
    const place = places.reduce((best, one) => (Math.abs(one.at - at) < Math.abs(best.at - at) ? one : best));
    mark.setAttribute("cx", place.at);
    mark.setAttribute("cy", place.y);
    text.textContent = place.say;
    const half = 2 + text.getComputedTextLength() / 2; // over its point, and never cut
    text.setAttribute("x", Math.max(half, Math.min(WIDTH - half, place.at)));
    show(true);
  });
  svg.addEventListener("pointerleave", () => show(false));
  svg.append(mark, text);
}

export const dot = (a, b, radius, x, y, title) =>
  s("circle", {class: "dot", cx: x(a), cy: y(b), r: radius}, title ? s("title", null, title) : null);

// A small line without axes, beside a figure.
export function spark(values) {
  const most = Math.max(1, ...values);
  const points = values.map((value, i) => `${(120 * i) / Math.max(1, values.length - 1)},${29 - (28 * value) / most}`);
  return s("svg", {class: "spark", viewBox: "0 0 120 30", preserveAspectRatio: "none", "aria-hidden": "true"},
    s("polyline", {class: "line", points: points.join(" ")}));
}

// The picture as a file of its own: what the style sheet says of it is written into it.
const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "opacity", "fill-opacity", "visibility", "paint-order"];

function withStyles(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of KEPT) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy;
}

// The figure: title, picture, and a button that saves it.
export function figure(name, svg, text) {
  const save = () => download(`${name}.svg`, new XMLSerializer().serializeToString(withStyles(svg)), "image/svg+xml");
  return h("figure", null, svg, h("figcaption", null, text, " ",
    h("button", {class: "quiet", type: "button", onclick: save, "aria-label": `Save as SVG: ${name}`}, "Save as SVG")));
}
