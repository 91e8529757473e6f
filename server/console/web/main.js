// SPDX-License-Identifier: Apache-2.0
// The frame of the page: navigation, sign-in, and the view that the address names.

import * as access from "./access.js";
import {get, hasToken, useToken} from "./api.js";
import {h, put} from "./dom.js";
import * as history from "./history.js";
import * as model from "./model.js";
import {lastModel} from "./models.js";
import * as next from "./next.js";
import * as overview from "./overview.js";
import * as quality from "./quality.js";
import {add, address, close, show} from "./router.js";
import {askForToken} from "./signin.js";
import {themeSwitch} from "./theme.js";
import * as suspects from "./suspects.js";
import * as train from "./train.js";
import * as trying from "./try.js";

const VIEWS = {
  overview: {title: "Overview", show: overview.show},
  try: {title: "Try", show: trying.show, isOfModel: true},
  train: {title: "Train", show: train.show, isOfModel: true, role: "train"},
  history: {title: "History", show: history.show, isOfModel: true, role: "train"},
  next: {title: "Label next", show: next.show, isOfModel: true, role: "train"},
  suspects: {title: "Wrong labels", show: suspects.show, isOfModel: true, role: "train"},
  model: {title: "Model", show: model.show, isOfModel: true},
  quality: {title: "Quality", show: quality.show, isOfModel: true},
};

const root = document.getElementById("main");
const nav = document.getElementById("nav");
const tools = document.getElementById("tools");
const theme = themeSwitch();

function drawFrame(isOpen) {
  const link = ([name, view]) => h("a", {href: address(name), "data-view": name, onclick: (event) => {
    if (view.isOfModel && lastModel()) event.currentTarget.setAttribute("href", address(name, lastModel()));
  }}, view.title);
  put(nav, isOpen ? Object.entries(VIEWS).filter(([, view]) => access.may(view.role ?? "classify")).map(link) : null);
  put(tools, theme, hasToken() && isOpen ? h("button", {class: "quiet", type: "button", onclick: signOut}, "Sign out") : null);
}

function signOut() {
  useToken("");
  signIn();
}

function signIn() {
  close();
  drawFrame(false);
  askForToken(root, () => open());
}

async function open(isFirst) {
  await access.ask().catch(() => {}); // the view says what is wrong
  drawFrame(true);
  show(root, isFirst);
}

for (const [name, view] of Object.entries(VIEWS)) add(name, view);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is that of the view
  root.focus();
});
window.addEventListener("hashchange", () => {
  if (nav.childElementCount > 0) show(root, false);
});
window.addEventListener("signed-out", () => {
  if (nav.childElementCount > 0) signIn();
});

try {
  await get("v1/models?limit=1");
  open(true);
} catch (error) {
  if (error.status === 401) signIn();
  else open(true); // the view says what is wrong
}
