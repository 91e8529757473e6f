// SPDX-License-Identifier: Apache-2.0
import {equal, holds} from "./browser.mjs";

// A model with documents that are stored without a label.
async function asked(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const words = ["free prize", "the meeting moves", "claim the figures", "your account of the quarter", "click on Friday", "a winner of the office"];
  const documents = words.map((text, i) => ({id: `open-${i}`, text: `${text} number${i}`, label: null}));
  await daemon.call("POST", "v1/models/sample/train", {documents});
  const tab = await api.tab(daemon);
  await tab.go("next/sample");
  return {daemon, tab, next: async (count = 10) => (await daemon.call("GET", `v1/models/sample/next?count=${count}`)).next};
}

const focused = (tab) => tab.page.evaluate(() => document.activeElement.classList.contains("card"));

export async function one_key_gives_a_label(api) {
  const {daemon, tab, next} = await asked(api);
  const [first, second] = await next();
  await tab.sees(".card h2", first.id);
  await tab.sees(".card .hint", `The model says ${first.verdict}`);
  equal(await tab.page.$$eval(".card button", (all) => all.map((one) => one.textContent)), ["1 ham", "2 spam", "0 Skip"], "keys");
  await tab.looksRight("next");
  holds(await focused(tab) || (await tab.page.focus(".card")) === undefined, "the focus");
  await tab.page.keyboard.press("2");
  await tab.sees(".card h2", second.id);
  equal((await daemon.call("GET", `v1/models/sample/documents/${first.id}`)).label, "spam", "learned");
  await tab.sees("main", "1 label given");
  holds(await focused(tab), "the next document has the focus");
}

export async function what_it_has_brought_is_measured(api) {
  const {daemon, tab, next} = await asked(api);
  const left = await next();
  const before = (await daemon.call("GET", "v1/models/sample/evaluation?scores=leave-one-out")).windows.at(-1);
  await tab.sees("main", `Accuracy: ${before.accuracy === 1 ? "100" : (100 * before.accuracy).toFixed(1)} % at the beginning`);
  for (const one of left) {
    await tab.sees(".card h2", "open-");
    const id = await tab.text(".card h2");
    if (one === left[0]) {
      await tab.page.focus(".card");
      await tab.page.keyboard.press("0");
    } else {
      await tab.page.focus(".card");
      await tab.page.keyboard.press("1");
    }
    await tab.page.waitForFunction((old) => document.querySelector(".card").innerText.split("\n")[0] !== old, {}, id);
  }
  await tab.sees(".card", "There is no document without a label left");
  await tab.sees("main", "5 labels given");
  await tab.sees("main", "after 5 labels");
  equal(await tab.page.$$eval("figure svg", (all) => all.map((one) => one.querySelectorAll("circle").length)), [2, 5], "its course");
  await tab.looksRight("next-gain");
  equal((await next()).map((one) => one.id), [left[0].id], "the one that was left out");
}

export async function a_key_with_a_modifier_is_not_an_answer(api) {
  const {daemon, tab, next} = await asked(api);
  const [first] = await next();
  await tab.sees(".card h2", first.id);
  await tab.page.focus(".card");
  await tab.page.keyboard.down("Control");
  await tab.page.keyboard.press("1");
  await tab.page.keyboard.up("Control");
  await tab.page.keyboard.press("x");
  await tab.page.focus("main select");
  await tab.page.keyboard.press("1");
  // The first answer is the next key alone.
  await tab.page.focus(".card");
  await tab.page.keyboard.press("2");
  await tab.sees("main", "1 label given");
  equal((await daemon.call("GET", `v1/models/sample/documents/${first.id}`)).label, "spam", "what was answered");
  equal((await next()).length, 5, "documents without a label");
}

export async function a_held_key_gives_one_label(api) {
  const {daemon, tab, next} = await asked(api);
  const [first] = await next();
  await tab.sees(".card h2", first.id);
  await tab.page.focus(".card");
  for (let i = 0; i < 4; i++) await tab.page.keyboard.down("2"); // all but the first one say that they repeat
  await tab.page.keyboard.up("2");
  await tab.sees("main", "1 label given");
  await tab.page.waitForFunction((id) => document.querySelector(".card h2").textContent !== id, {}, first.id);
  for (let i = 0; i < 3; i++) await tab.page.keyboard.down("0");
  await tab.page.keyboard.up("0");
  equal((await next()).length, 5, "documents without a label");
  equal((await daemon.call("GET", `v1/models/sample/documents/${first.id}`)).label, "spam", "the one that was labelled");
}

export async function the_last_label_is_undone_by_a_key(api) {
  const {daemon, tab, next} = await asked(api);
  const {settings, labels} = await daemon.call("GET", "v1/models/sample");
  await daemon.call("PUT", "v1/models/sample", {...settings, history: 100});
  await daemon.call("POST", "v1/models/sample/classify?remember=1&id=seen", "free meeting", {"Content-Type": "text/plain"});
  while ((await next()).length < 7) await new Promise((done) => setTimeout(done, 100));
  await tab.go("overview");
  await tab.go("next/sample");
  for (const [i, one] of (await next()).entries()) {
    const now = await daemon.call("GET", "v1/models/sample");
    equal([i, now.labels], [i, labels], "as before");
    await tab.page.waitForFunction(() => document.querySelector(".card h2"));
    const id = await tab.text(".card h2");
    await tab.page.focus(".card");
    await tab.page.keyboard.press("1");
    await tab.page.waitForFunction((old) => document.querySelector(".card").innerText.split("\n")[0] !== old, {}, id);
    await tab.page.keyboard.press("u");
    await tab.sees(".card h2", id);
    holds(one.id !== undefined, "a document");
    await tab.page.keyboard.press("0");
    await tab.page.waitForFunction((old) => document.querySelector(".card").innerText.split("\n")[0] !== old, {}, id);
  }
  equal((await next()).length, 7, "documents without a label");
}

// The accuracy is measured meanwhile; what takes longer than .3 seconds shows a sign.
export async function the_first_document_does_not_wait_for_the_measure(api) {
  const {tab} = await asked(api);
  const held = [];
  await tab.page.setRequestInterception(true);
  tab.page.on("request", (request) => (request.url().includes("/evaluation") ? held.push(request) : request.continue()));
  await tab.go("overview");
  await tab.go("next/sample");
  await tab.sees(".card h2", "open-");
  await tab.sees(".card .hint", "Stored ");
  await tab.page.waitForSelector("#busy:not([hidden])");
  holds(held.length > 0, "nothing was measured");
  for (const request of held) await request.continue();
  await tab.sees("main", "at the beginning");
  await tab.page.waitForSelector("#busy[hidden]");
}

// A mail of the history is shown with what the history has of its header.
export async function a_mail_is_shown_with_its_header(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const {settings} = await daemon.call("GET", "v1/models/sample");
  await daemon.call("PUT", "v1/models/sample", {...settings, history: 100, history_subject: true});
  await daemon.call("POST", "v1/models/sample/classify?remember=1", "From: =?utf-8?Q?J=C3=BCrg?= <j@example.org>\r\nSubject: Lunch\r\n\r\nfree on Friday?\r\n", {"Content-Type": "message/rfc822"});
  const tab = await api.tab(daemon);
  await tab.go("next/sample");
  await tab.sees(".card h2", "Lunch");
  await tab.sees(".card .from", "From: Jürg <j@example.org>");
  await tab.sees(".card .hint", "Asked about");
  await tab.looksRight("next-mail");
}
