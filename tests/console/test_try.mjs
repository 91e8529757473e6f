// SPDX-License-Identifier: Apache-2.0
import {mkdtemp, rm, writeFile} from "node:fs/promises";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {equal, holds} from "./browser.mjs";
import {sample} from "./daemon.mjs";

const HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> free prize";

async function tried(api, text) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon);
  await tab.go("try/sample");
  await tab.write("textarea", text);
  await tab.press("Classify");
  await tab.sees("main h2", "Verdict");
  return {daemon, tab};
}

export async function a_text_gets_its_verdict_with_reasons(api) {
  const text = "WINNER!!! Claim your FREE cash prize now, click http://prize.example.com/win";
  const {daemon, tab} = await tried(api, text);
  const verdict = await daemon.call("POST", "v1/models/sample/classify?explain=10000", text, {"Content-Type": "text/plain"});
  await tab.sees(".verdict strong", verdict.label);
  const shown = parseFloat(await tab.text(".verdict span"));
  holds(Math.abs(shown - 100 * verdict.probability) < 0.06, `${shown} shown, ${verdict.probability} is`);
  equal(await tab.page.$eval(".document", (element) => element.textContent), text, "the text is shown as it is");
  const colours = await tab.page.$$eval("mark[class^=for]", (all) => all.map((one) => one.textContent));
  holds(colours.includes("prize"), `coloured for it: ${colours}`);
  await tab.page.evaluate(() => [...document.querySelectorAll(".document mark")].find((one) => one.textContent === "prize").click());
  const {tokens} = await daemon.call("GET", "v1/models/sample/vocabulary?label=spam&limit=10000");
  const {counts} = tokens.find((one) => one.token === "prize");
  await tab.sees(".details", `“prize”, 1 time here, ${counts.spam} in spam, ${counts.ham ?? 0} in ham: `);
  await tab.sees("h3", "What ham would need");
  const bars = await tab.page.$$eval(".bars tbody tr", (rows) => rows.map((row) => row.textContent));
  holds(bars.some((row) => row.startsWith("Words")) && bars.some((row) => row.startsWith("Runs of letters")), bars.join("|"));
  await tab.looksRight("try");
}

export async function the_bars_add_up_to_the_odds(api) {
  const {daemon, tab} = await tried(api, "free prize for the meeting");
  const verdict = await daemon.call("POST", "v1/models/sample/classify?explain=10000", "free prize for the meeting", {"Content-Type": "text/plain"});
  const values = await tab.page.$$eval(".bars", (tables) => [...tables[1].querySelectorAll("tbody .number")].map((one) => Number(one.textContent.replace("−", "-"))));
  const odds = Math.log(verdict.probability / (1 - verdict.probability));
  holds(Math.abs(values.reduce((a, b) => a + b, 0) - odds) < 0.005 * values.length + 1e-6, `${values} is not ${odds}`);
}

export async function a_button_teaches_and_takes_back(api) {
  const {daemon, tab} = await tried(api, "the weekly prize giving of the rowing club");
  const before = await daemon.call("GET", "v1/models/sample");
  await tab.press("ham");
  await tab.sees(".notice.good", `ham ${before.labels.ham.documents + 1}`);
  await tab.sees(".notice.good", "Before:");
  await tab.looksRight("try-taught");
  equal((await daemon.call("GET", "v1/models/sample")).labels.ham.documents, before.labels.ham.documents + 1, "learned");
  await tab.press("spam");
  await tab.sees(".notice.good", "Relabelled");
  await tab.press("Take it back");
  await tab.sees(".notice.good", "it is ham again");
  await tab.write('input[name="label"]', "club");
  await tab.press("Teach");
  await tab.sees(".notice.good", "club 1");
  await tab.sees(".teach button", "club");
}

export async function what_is_learned_new_is_taken_back_whole(api) {
  const {daemon, tab} = await tried(api, "quite another text about rowing");
  await tab.press("ham");
  await tab.sees(".notice.good", "Learned");
  await tab.press("Take it back");
  await tab.sees(".notice.good", "Taken back.");
  equal((await daemon.call("GET", "v1/models/sample")).documents, 94, "documents");
}

export async function values_of_fields_are_given_and_shown(api) {
  const daemon = await api.daemon();
  await daemon.call("PUT", "v1/models/shop", {preset: "book", fields: {land: "category", price: "number", "tags": "set"}});
  const documents = Array.from({length: 40}, (_, i) => ({text: `word${i % 7}`, label: i % 2 ? "dear" : "cheap",
    values: {land: i % 2 ? "DE" : "FR", price: i % 2 ? 90 + i / 10 : 10 + i / 10, tags: [i % 2 ? "<b>" : "x"]}}));
  await daemon.call("POST", "v1/models/shop/train", {documents});
  const tab = await api.tab(daemon);
  await tab.go("try/shop");
  const names = await tab.page.$$eval("form.drop .row .field label", (all) => all.map((one) => one.textContent));
  equal(names.sort(), ["land", "price", "tags"], "inputs");
  const into = async (name, value) => tab.write(`#${await tab.page.$$eval("form.drop label", (all, one) => all.find((label) => label.textContent === one).htmlFor, name)}`, value);
  await into("land", "DE");
  await into("price", "91,5");
  await into("tags", "<b>, y");
  await tab.press("Classify");
  await tab.sees(".verdict strong", "dear");
  for (const name of names) await tab.sees(".bars", `Field ${name}`);
  await tab.looksRight("try-fields");
  const values = {land: "DE", price: 91.5, tags: ["<b>", "y"]};
  const verdict = await daemon.call("POST", "v1/models/shop/classify", {values});
  holds(Math.abs(parseFloat(await tab.text(".verdict span")) - 100 * verdict.probability) < 0.06, `${await tab.text(".verdict span")}, ${verdict.probability}`);
  await tab.press("cheap");
  await tab.sees(".notice.good", "cheap 21");
  equal((await daemon.call("POST", "v1/models/shop/train", {values, label: "cheap"})).status, "unchanged", "what was learned");
  await tab.press("dear");
  await tab.sees(".notice.good", "Relabelled");
  await tab.press("Take it back");
  await tab.sees(".notice.good", "it is cheap again");
  await into("price", "much");
  await tab.press("Classify");
  await tab.sees('[role="alert"]', "should be a number");
}

export async function a_mail_is_read_and_shown(api) {
  const {tab} = await tried(api, "x");
  const folder = await mkdtemp(join(tmpdir(), "bayesd-mail-"));
  const mail = (await sample("new")).find((one) => one.mail?.includes("base64") || one.mail?.includes("quoted-printable")) ?? (await sample("new")).find((one) => one.mail);
  await writeFile(join(folder, "a.eml"), mail.mail);
  const input = await tab.page.$("#try-file");
  await input.uploadFile(join(folder, "a.eml"));
  await tab.sees(".document b", "Subject");
  await tab.sees(".bars", "Subject");
  await tab.looksRight("try-mail");
  await rm(folder, {recursive: true});
}

export async function a_binary_file_is_said(api) {
  const {tab} = await tried(api, "x");
  const folder = await mkdtemp(join(tmpdir(), "bayesd-binary-"));
  api.ends.push(() => rm(folder, {recursive: true}));
  const input = await tab.page.$("#try-file");
  const tryFile = async (name, content) => {
    await writeFile(join(folder, name), content);
    await input.uploadFile(join(folder, name));
  };
  for (let i = 0; i < 2; i++) { // chosen again it is said again
    await tryFile("zeros", Buffer.alloc(400));
    await tab.sees('[role="alert"]', "zeros: it is binary, neither a text nor a mail.");
    equal(await tab.page.$eval("textarea", (element) => element.value), "", "the text");
    equal(await tab.page.$$eval(".teach", (all) => all.length), 0, "places to teach it");
    await tryFile("text", "free prize");
    await tab.sees("main h2", "Verdict");
  }
}

export async function a_hostile_text_stays_text(api) {
  const {tab} = await tried(api, HOSTILE);
  equal(await tab.page.$eval(".document", (element) => element.textContent), HOSTILE, "the text");
  equal(await tab.page.$$eval("main script, main img", (all) => all.length), 0, "elements of it");
  const mail = `From: <b>a</b>@example.org\r\nSubject: ${HOSTILE}\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n<p onclick=alert(3)>free</p><script>alert(4)</script>&lt;i&gt;prize&lt;/i&gt;`;
  await tab.write("textarea", mail);
  await tab.press("Classify");
  await tab.sees(".document", "<i>prize</i>");
  equal(await tab.page.$$eval(".document *", (all) => [...new Set(all.map((one) => one.localName))].filter((name) => !["p", "b", "mark"].includes(name))), [], "elements");
  await tab.page.evaluate(() => {
    const strict = (make) => {
      try {
        make();
      } catch {
        return;
      }
      throw new Error("the policy lets markup in");
    };
    strict(() => { document.body.innerHTML = "<b>x</b>"; });
  });
  tab.faults = tab.faults.filter((fault) => !/TrustedHTML|trusted-types|Trusted Type/i.test(fault));
}

export async function a_model_without_documents_is_taught(api) {
  const daemon = await api.daemon();
  await daemon.call("PUT", "v1/models/new", {});
  const tab = await api.tab(daemon);
  await tab.go("try/new");
  await tab.write("textarea", "the first of all");
  await tab.press("Classify");
  await tab.sees(".notice", "learned nothing yet");
  await tab.write('input[name="label"]', "first");
  await tab.press("Teach");
  await tab.sees(".notice.good", "first 1");
  await tab.sees(".notice.warn", "not ready");
}

export async function long_and_foreign_labels_have_their_place(api) {
  const daemon = await api.daemon();
  const name = "tickets-of-many-labels.with-a-name-as-long-as-those-of@users.example.org";
  const words = ["שלום", "orbit", "dose", "goal", "court", "bread", "rain", "train", "piano", "atom", "river", "stone", "glass", "paper"];
  const labels = words.map((word, i) => (i === 0 ? "עברית" : `a-category-${String(i).padStart(2, "0")}-with-an-unbrokenlyandunreasonablylongname`));
  const documents = words.flatMap((word, i) => Array.from({length: 10}, (_, k) => ({text: `${word} ${word}s ${"xyz"[k % 3]}`, label: labels[i]})));
  await daemon.call("POST", `v1/models/${name}/train`, {documents});
  const tab = await api.tab(daemon);
  await tab.go("overview");
  const cells = await tab.page.$$eval("tbody td:nth-child(2) bdi", (all) => all.map((one) => one.textContent));
  equal(cells.length >= 1 && cells.length < 4, true, `labels in the list: ${cells}`);
  await tab.looksRight("overview-long");
  await tab.go(`try/${name}`);
  await tab.write("textarea", "שלום שלוםs");
  await tab.press("Classify");
  await tab.sees(".verdict strong", "עברית");
  const first = await tab.text(".teach button");
  equal(first, "עברית", "the likeliest label comes first where not all have room");
  const [label, share] = await tab.page.$$eval(".verdict strong, .verdict span", (all) => all.map((one) => one.getBoundingClientRect().left));
  holds(label < share, "the label stands before its probability");
  await tab.looksRight("try-long");
  await tab.go(`quality/${name}`);
  await tab.sees("h2", "ROC");
  await tab.looksRight("quality-long");
}

export async function another_label_that_is_nearly_an_old_one_is_asked_about(api) {
  const {daemon, tab} = await tried(api, "the weekly prize giving of the rowing club");
  const before = (await daemon.call("GET", "v1/models/sample")).labels;
  await tab.write("input[name=label]", "H\u200Bam");
  await tab.press("Teach");
  await tab.sees(".notice.warn", `It differs from ham, which has ${before.ham.documents} documents, only by case`);
  equal((await daemon.call("GET", "v1/models/sample")).labels, before, "learned before the answer");
  await tab.press("Learn as ham");
  await tab.sees(".notice.good", `ham ${before.ham.documents + 1}`);
  equal(Object.keys((await daemon.call("GET", "v1/models/sample")).labels).sort(), ["ham", "spam"], "labels");
}

export async function a_text_without_a_known_word_gives_no_evidence(api) {
  const {tab} = await tried(api, "");
  await tab.sees(".verdict", "No evidence");
  await tab.sees(".notice.warn", "The model knows nothing of it.");
}

// The decision none is "none of these", and says how probable it is that the text is of any label.
export async function none_of_these_is_shown(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const {settings} = await daemon.call("GET", "v1/models/sample");
  await daemon.call("PUT", "v1/models/sample", {...settings, min_known: 1});
  const text = "the penguins swim under the ice with xylophone and quartz";
  const verdict = await daemon.call("POST", "v1/models/sample/classify", text, {"Content-Type": "text/plain"});
  equal(verdict.decision, "none", "the decision");
  const tab = await api.tab(daemon);
  await tab.go("try/sample");
  await tab.write("textarea", text);
  await tab.press("Classify");
  await tab.sees(".verdict", "None of these");
  equal(await tab.text(".verdict"), "None of these", "no label beside it");
  await tab.sees(".notice", "below 1, the model's setting min_known");
  const known = parseFloat(/of any of the labels: ([0-9.]+) %/.exec(await tab.text(".result"))[1]);
  holds(Math.abs(known - 100 * verdict.known) < 0.06, `${known} shown, ${verdict.known} is`);
  const before = await tab.page.$$eval(".teach button", (all) => all.map((one) => one.textContent));
  holds(before.includes("ham") && before.includes("spam"), `it can be taught: ${before}`);
  await tab.looksRight("try-none-of-these");
  await tab.press("ham");
  await tab.sees(".notice.good", "Before: none of these; that it is of any of the labels:");
}

export async function a_model_that_is_not_there_is_not_replaced(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon);
  for (const view of ["try", "history", "next", "model", "quality"]) {
    await tab.go(`${view}/nosuch`);
    await tab.sees(".notice.warn", "There is no model nosuch.");
    holds((await tab.page.$("textarea")) === null, `${view} shows another model`);
  }
  await tab.page.select("main select", "sample");
  await tab.page.waitForFunction(() => location.hash === "#/quality/sample");
}

export async function a_label_without_documents_is_not_offered(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  await daemon.call("POST", "v1/models/sample/train?label=spma&id=slip", "a mistyped label", {"Content-Type": "text/plain"});
  await daemon.call("POST", "v1/models/sample/untrain", {id: "slip"});
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees(".light.good h2", "All is well");
  holds(!(await tab.text("main")).includes("spma"), "Overview names it");
  await tab.go("try/sample");
  await tab.write("textarea", "free prize");
  await tab.press("Classify");
  await tab.sees(".teach button", "spam");
  holds(!(await tab.text(".teach")).includes("spma"), "Try offers it");
}

// What the verdict begins with, and how often a word occurs, have the names of what they are.
export async function figures_are_named_for_what_they_are(api) {
  const {tab} = await tried(api, "free prize free");
  await tab.sees(".bars", "Before any word");
  const columns = await tab.page.$$eval("details th", (all) => all.map((one) => one.textContent));
  holds(columns.includes("Occurrences") && columns.includes("Times"), columns.join(", "));
}
