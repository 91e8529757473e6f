// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system says, until the user chooses.

import {h} from "./dom.js";

const KEPT = "bayesd-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function current() {
  return document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
}

export function themeSwitch() {
  const kept = localStorage.getItem(KEPT);
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  const button = h("button", {class: "quiet", type: "button", onclick: () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(KEPT, next);
    show();
  }});
  const show = () => {
    button.textContent = current() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${current() === "dark" ? "light" : "dark"} colours`);
  };
  system.addEventListener("change", show);
  show();
  return button;
}
