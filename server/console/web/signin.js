// SPDX-License-Identifier: Apache-2.0
// Asks for a token.

import {get, useToken} from "./api.js";
import {failure, field, h, put} from "./dom.js";

// Shows the form in `root`; done() is called once a token works.
export function askForToken(root, done) {
  const token = h("input", {type: "password", name: "token", autocomplete: "off", required: true, spellcheck: "false"});
  const keep = h("input", {type: "checkbox", id: "keep"});
  const wrong = h("div");
  const form = h("form", {class: "panel narrow", onsubmit: async (event) => {
    event.preventDefault();
    useToken(token.value.trim(), keep.checked);
    try {
      await get("v1/models?limit=1");
      done();
    } catch (error) {
      useToken("");
      put(wrong, failure(error));
      token.select();
    }
  }},
  field("Token", token, "One of [tokens] in the configuration, or of the file that it names. It stays in the memory of this page."),
  h("p", null, keep, " ", h("label", {for: "keep"}, "Keep it until this tab is closed")),
  wrong,
  h("button", {class: "main", type: "submit"}, "Sign in"));
  put(root, h("h1", {tabindex: -1}, "Sign in"), form);
  token.focus();
}
