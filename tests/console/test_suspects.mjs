// SPDX-License-Identifier: Apache-2.0
import {equal, holds, PHONE} from "./browser.mjs";

const WORDS = {spam: "buy cheap pills offer money winner prize click", ham: "meeting report agenda minutes project budget noon friday"};

// A model with two wrong labels.
async function asked(api, options) {
  const daemon = await api.daemon();
  const documents = [];
  for (let i = 0; i < 40; i++) {
    const right = i % 2 ? "spam" : "ham", words = WORDS[right].split(" ");
    const label = i < 2 ? (right === "spam" ? "ham" : "spam") : right;
    documents.push({id: `mail-${i}`, label, source: i < 2 ? "careless" : "careful", text: words.map((_, k) => words[(i * 3 + k * (1 + (i % 3))) % words.length]).join(" ")});
  }
  await daemon.call("POST", "v1/models/mail/train", {documents});
  const tab = await api.tab(daemon, options);
  await tab.go("suspects/mail");
  await tab.sees("main", "Of 40 documents another label wins for 2");
  return {daemon, tab, label: async (id) => (await daemon.call("GET", `v1/models/mail/documents/${id}`)).label};
}

export async function one_key_keeps_and_one_corrects(api) {
  const {daemon, tab, label} = await asked(api);
  await tab.sees("main", "By source: careless");
  await tab.looksRight("suspects");
  const [first, second] = await tab.page.$$eval("tbody th", (all) => all.map((one) => one.textContent));
  const before = [await label(first), await label(second)];
  await tab.page.focus("tbody tr");
  await tab.page.keyboard.press("y");
  await tab.sees("tbody tr:first-child", "corrected");
  await tab.page.keyboard.press("n");
  await tab.sees("tbody tr:last-child", "kept");
  equal(await label(first), before[0] === "spam" ? "ham" : "spam", "corrected");
  equal(await label(second), before[1], "kept");
  equal((await daemon.call("GET", "v1/models/mail/suspects")).suspects, [], "neither is suspected");
  await tab.page.keyboard.press("k");
  await tab.page.keyboard.press("u");
  await tab.sees("tbody tr:first-child", "kept");
  equal(await label(first), before[0], "taken back");
}

export async function a_model_without_suspects_says_so(api) {
  const daemon = await api.daemon();
  const documents = Object.entries(WORDS).flatMap(([label, text]) => [1, 2, 3, 4].map((i) => ({text: `${text} ${i}`, label})));
  await daemon.call("POST", "v1/models/mail/train", {documents});
  const tab = await api.tab(daemon);
  await tab.go("suspects/mail");
  await tab.sees(".notice.good", "No label looks wrong: of 8 documents each has the label that the others suggest.");
  equal(await tab.page.$("table"), null, "a table of none");
  await daemon.call("POST", "v1/models/one/train?label=a", "one", {"Content-Type": "text/plain"});
  await tab.go("suspects/one");
  await tab.sees(".notice", "The model must learn some documents of each label first.");
}

export async function on_a_phone_the_answers_are_in_sight(api) {
  const {tab} = await asked(api, {device: PHONE});
  const ends = await tab.page.$$eval("tbody .answers button", (all) => all.map((one) => one.getBoundingClientRect().right));
  equal(ends.length, 4, "answers");
  holds(Math.max(...ends) <= PHONE.width - 16, `answers end at ${ends}`);
  const widths = await tab.page.$$eval("tbody th", (all) => all.map((one) => one.getBoundingClientRect().width));
  holds(Math.min(...widths) >= PHONE.width / 2, `the documents have ${widths} pixels`);
  equal(await tab.page.$eval(".scroll", (one) => one.scrollWidth - one.clientWidth), 0, "pixels out of sight");
}
