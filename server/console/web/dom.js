// SPDX-License-Identifier: Apache-2.0
// Elements. A text becomes a text node, never markup: what a mail says cannot become a part of the page.

const SVG = "http://www.w3.org/2000/svg";

function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "value") element.value = value;
  else if (name === "checked") element.checked = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

// One by one: a model may have more labels than a call may have arguments.
function append(element, children) {
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(child);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) if (name !== "value") set(element, name, value);
  append(element, children);
  set(element, "value", attributes?.value); // of a select: once its options are there
  return element;
}

// An element with attributes, handlers ("onclick": function) and children: elements, texts, lists of them.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Puts these children in the place of all that an element has.
export function put(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// A table. Columns: {name, number: right-aligned, wide: may break}; rows: lists of texts or elements, the first one
// names its row.
export function table(caption, columns, rows) {
  const kind = ({number, aside}) => [number ? "number" : null, aside ? "aside" : null].filter(Boolean).join(" ") || null;
  const cell = (value, i) => h(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: kind(columns[i])}, value);
  return h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
    h("table", null,
      h("caption", null, caption),
      h("thead", null, h("tr", null, columns.map((column) =>
        h("th", {scope: "col", class: kind(column)}, column.name)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map(cell))))));
}

// A labelled input; `hint` stands under it and is read with it.
let fields = 0;
export function field(label, input, hint) {
  const id = input.id || `field-${++fields}`;
  input.id = id;
  if (hint) input.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", {class: "field"}, h("label", {for: id}, label), input,
    hint ? h("p", {class: "hint", id: `${id}-hint`}, hint) : null);
}

// Closed on a phone, until it is opened; elsewhere there is nothing to open (style.css has the same width).
export function folded(title, isOpen, ...children) {
  const phone = window.matchMedia("(max-width: 45rem)");
  const details = h("details", {class: "folded", open: isOpen || !phone.matches}, h("summary", null, title), children);
  const adapt = () => {
    if (details.isConnected) details.open = !phone.matches;
    else phone.removeEventListener("change", adapt);
  };
  phone.addEventListener("change", adapt);
  return details;
}

// Tells a screen reader what has changed.
export function say(text) {
  document.getElementById("said").textContent = text;
}

// Lets the user keep these bytes as a file.
export function download(name, parts, type) {
  const url = URL.createObjectURL(new Blob(Array.isArray(parts) ? parts : [parts], {type}));
  const link = h("a", {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// What went wrong, in the place of what was asked for.
export function failure(error) {
  return h("p", {class: "notice bad", role: "alert"}, error.message);
}
