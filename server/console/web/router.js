// SPDX-License-Identifier: Apache-2.0
// Which view is shown: "#/try/mail" is the view `try` of the model `mail`. What follows a "?" are the view's filters.

import {failure, h, put} from "./dom.js";

const views = new Map(); // name: {title, show, needsModel}
let leave = null; // what the view that is shown wants done when it goes
let turn = 0;
let guard = null; // asks whether the view may go: it has changes that are not saved
let shown = null; // its address

export function add(name, view) {
  views.set(name, view);
}

export const address = (name, ...rest) => "#/" + [name, ...rest].map(encodeURIComponent).join("/");

// The filters of the address, and the address with others; no view is drawn for it.
export const filters = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));

export function keepFilters(values) {
  const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== "")).toString();
  window.history.replaceState(null, "", location.hash.split("?")[0] + (text ? `?${text}` : ""));
  shown = location.hash;
}

// The view that is shown asks before it goes: may() says whether it may. Null: no more.
export function guardLeaving(may) {
  guard = may;
}

export function here() {
  const [name, ...rest] = location.hash.split("?")[0].replace(/^#\/?/, "").split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return views.has(name) ? {name, rest: rest.filter(Boolean)} : {name: "overview", rest: []};
}

function heading(title) {
  return h("h1", {tabindex: -1}, title);
}

// Shows the view of the address in `root`. A view is show(place, rest): it puts its content in the place, and returns
// what is to be done when it goes, or nothing.
export async function show(root, isFirst) {
  if (guard && !guard()) return void window.history.replaceState(null, "", shown);
  guard = null;
  shown = location.hash || "#/overview";
  const mine = ++turn;
  const {name, rest} = here();
  const view = views.get(name);
  leave?.();
  leave = null;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${rest[0] ? `${rest[0]} - ` : ""}${view.title} - bayesd`;
  const title = heading(view.title);
  const place = h("div", {class: "view"});
  put(root, title, place);
  root.setAttribute("aria-busy", "true");
  if (!isFirst) title.focus();
  try {
    const after = await view.show(place, rest);
    if (mine === turn) leave = after ?? null;
    else after?.();
  } catch (error) {
    if (mine === turn && error.status !== 401) put(place, failure(error));
  }
  if (mine === turn) root.setAttribute("aria-busy", "false");
}

// The view that is shown goes, and none comes.
export function close() {
  guard = null;
  turn++;
  leave?.();
  leave = null;
}
