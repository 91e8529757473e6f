// SPDX-License-Identifier: Apache-2.0
// What happens while a page is open, and more of something than a page is made for.
import {equal, holds} from "./browser.mjs";

const ADMIN = "an-admin-token-of-the-tests";
const LABELS = 150;
const labelOf = (i) => `<b>label</b> ${i}`;

async function withManyLabels(api, options) {
  const daemon = await api.daemon();
  const documents = Array.from({length: 2 * LABELS}, (_, i) => ({text: `word${i % LABELS} common`, label: labelOf(i % LABELS)}));
  await daemon.call("POST", "v1/models/sample/train", {documents});
  const {settings} = await daemon.call("GET", "v1/models/sample");
  await daemon.call("PUT", "v1/models/sample", {...settings, history: 100});
  await daemon.call("POST", "v1/models/sample/train", {documents: [{id: "open", text: "word140 common", label: null}]});
  return {daemon, tab: await api.tab(daemon, options)};
}

const elements = (tab) => tab.page.$$eval("main *", (all) => all.length);

export async function many_labels_are_found_by_name(api) {
  const {tab} = await withManyLabels(api);
  await tab.go("model/sample/labels");
  equal(await tab.page.$$eval("tbody tr", (all) => all.length), 100, "rows");
  await tab.sees("main", "And 50 labels with fewer documents.");
  await tab.write("#label-search", "label</b> 149");
  equal(await tab.page.$$eval("tbody th", (all) => all.map((one) => one.textContent)), [labelOf(149)], "found");
  await tab.looksRight("model-many");
  await tab.go("quality/sample");
  await tab.sees("caption", "The 100 labels of 150 with the lowest F1");
  await tab.looksRight("quality-labels");
}

export async function of_many_labels_one_is_typed(api) {
  const {daemon, tab} = await withManyLabels(api);
  await daemon.call("POST", "v1/models/sample/classify?remember=1", {documents: Array.from({length: 50}, (_, i) => ({id: `asked-${i}`, text: `word${i}`}))});
  await tab.go("history/sample");
  await tab.page.waitForFunction(async () => {
    [...document.querySelectorAll("button")].find((one) => one.textContent === "Show")?.click();
    await new Promise((done) => requestAnimationFrame(done));
    return document.querySelectorAll("tbody tr:not(.below)").length === 50;
  }, {polling: 500});
  holds((await elements(tab)) < 20 * LABELS, `${await elements(tab)} elements`);
  const input = 'input[aria-label="Label of asked-7"]';
  await tab.write(input, "lable 9");
  await tab.sees('[role="alert"]', "The model has no label lable 9.");
  await tab.write(input, labelOf(9));
  await tab.sees(".notice.good", `asked-7 is ${labelOf(9)} now.`);
  equal((await daemon.call("GET", "v1/models/sample/documents/asked-7")).label, labelOf(9), "learned");
}

export async function of_many_labels_the_verdict_has_a_key(api) {
  const {daemon, tab} = await withManyLabels(api, {awaited: [409]}); // nothing is measured yet of so many labels with two documents
  await tab.go("next/sample");
  const {next: [one]} = await daemon.call("GET", "v1/models/sample/next?count=1");
  await tab.sees(".card h2", "open");
  const keys = await tab.page.$$eval(".card .row button kbd", (all) => all.map((key) => key.parentElement.textContent));
  holds(keys.length === 10 && keys.includes(`9 ${one.verdict}`), keys.join("|"));
  await tab.looksRight("next-many");
  await tab.page.focus(".card form input");
  await tab.page.keyboard.type("1");
  await tab.press("Apply");
  await tab.sees('[role="alert"]', "The model has no label 1.");
  await tab.write(".card form input", labelOf(140));
  await tab.press("Apply");
  await tab.sees(".card", "There is no document without a label");
  equal((await daemon.call("GET", "v1/models/sample/documents/open")).label, labelOf(140), "learned");
}

export async function many_models_do_not_fill_the_page(api) {
  const daemon = await api.daemon();
  const names = Array.from({length: 520}, (_, i) => `user-${String(i).padStart(4, "0")}`);
  for (let at = 0; at < names.length; at += 52) await Promise.all(names.slice(at, at + 52).map((name) => daemon.call("PUT", `v1/models/${name}`, {})));
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees("#learning summary", "0 of the first 500 models are ready, 500 still learn.");
  equal(await tab.page.$$eval(".light li", (all) => all.length), 0, "what needs a person");
  await tab.sees(".tile", "in the first 500 models");
  const shown = () => tab.page.$$eval("tbody th", (all) => all.map((one) => one.textContent));
  equal(await shown(), names.slice(0, 100), "the first page");
  await tab.press("Next");
  await tab.sees("tbody th", "user-0199");
  equal(await shown(), names.slice(100, 200), "the second page");
  await tab.looksRight("overview-many");
  await tab.press("Back");
  await tab.sees("tbody th", "user-0000");
  // Names that begin with something: the very name, too, and none before or behind.
  const odd = ["user-05", "user-05.a", "user-05@b", "user-05_c", "user-04z", "user-0"];
  for (const name of odd) await daemon.call("PUT", `v1/models/${name}`, {});
  for (const [beginning, found] of [["user-05", [...names.slice(500), ...odd.slice(0, 4)]], ["user-04z", ["user-04z"]], ["user-05.", ["user-05.a"]], ["none", []], ["no name", []]]) {
    await tab.write("main input[type=search]", beginning);
    await tab.press("Show");
    const want = [...found].sort();
    await tab.page.waitForFunction((text) => JSON.stringify([...document.querySelectorAll("tbody th")].map((one) => one.textContent)) === text, {}, JSON.stringify(want));
  }
  await tab.sees(".notice", "No model has such a name.");
  await tab.go("model/user-0519/copies");
  await tab.sees("main .hint", "0 documents");
  equal(await tab.page.$eval("main input", (one) => one.value), "user-0519", "the model");
}

export async function a_long_text_is_shown_in_part(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon);
  await tab.go("try/sample");
  const text = "claim the free prize of words ".repeat(20000);
  await tab.page.evaluate((pasted) => {
    const data = new DataTransfer();
    data.setData("text/plain", pasted);
    document.querySelector("textarea").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
  }, text);
  await tab.sees(".hint", "A long text, 600 KB");
  await tab.sees(".hint", "Only the first 50,000 letters are shown");
  equal(await tab.page.$eval(".document", (one) => one.textContent), text.slice(0, 50000), "the beginning");
  await tab.press("spam");
  await tab.sees(".notice.good", "spam 48");
  await tab.write("textarea", "free prize");
  await tab.press("Classify");
  await tab.sees(".document", "free prize");
  await tab.page.waitForFunction(() => document.querySelector(".document").textContent === "free prize");
  holds(!(await tab.text("main")).includes("A long text"), "the long text is still named");
}

// Whoever saves the settings of a model that somebody else has deleted does not make an empty one.
export async function a_model_that_was_deleted_is_not_made_anew(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon, {awaited: [404]});
  tab.page.on("dialog", (dialog) => dialog.accept()); // settings that could not be saved are left
  for (const [view, act] of [["model/sample/settings", async () => {
    await tab.write("#setting-min_count", "2");
    await tab.press("Save");
  }], ["history/sample", () => tab.press("Keep the last 10,000")], ["model/sample/labels", () => tab.click('button[aria-label="Words of spam"]')],
  ["model/sample/sample", () => tab.press("Draw")], ["model/sample/copies", () => tab.press("Export")]]) {
    await daemon.trainSample("sample");
    await tab.go("overview");
    await tab.go(view);
    await daemon.call("DELETE", "v1/models/sample");
    await act();
    await tab.sees('[role="alert"]', "there is no model 'sample'");
    equal((await daemon.call("GET", "v1/models")).models, [], `the models after ${view}`);
  }
}

export async function a_daemon_that_comes_back_goes_on(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon, {awaited: ["net::ERR_"]});
  await tab.go("try/sample");
  await tab.write("textarea", "free prize");
  await daemon.end("SIGKILL");
  await tab.press("Classify");
  await tab.sees('[role="alert"]', "Can't reach bayesd.");
  await daemon.begin();
  await tab.press("Classify");
  await tab.sees(".verdict strong", "spam");
}

export async function a_token_that_ends_asks_for_another(api) {
  const daemon = await api.daemon(`[tokens]\nadmin = ${ADMIN}\n`);
  await daemon.trainSample("sample", {Authorization: `Bearer ${ADMIN}`});
  const reader = await daemon.newToken("reader", "classify", "*");
  const tab = await api.tab(daemon, {awaited: [401]});
  const signIn = async (token) => {
    await tab.sees("main h1", "Sign in");
    await tab.write('input[name="token"]', token);
    await tab.press("Sign in");
  };
  await tab.go("try/sample");
  await signIn(reader);
  await tab.sees("main h1", "Try");
  await tab.page.waitForSelector("textarea");
  await tab.write("textarea", "free prize");
  await daemon.revokeToken("reader", reader);
  await tab.press("Classify");
  await signIn(ADMIN);
  await tab.sees("main h1", "Try");
  await tab.page.waitForSelector("textarea");
  await tab.write("textarea", "free prize");
  await tab.press("Classify");
  await tab.sees(".verdict strong", "spam");
}
