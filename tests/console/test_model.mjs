// SPDX-License-Identifier: Apache-2.0
import {mkdtemp, rm, writeFile} from "node:fs/promises";
import {tmpdir} from "node:os";
import {dirname, join} from "node:path";
import {equal, holds, PHONE} from "./browser.mjs";

async function opened(api, part, options) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon, options);
  await tab.go(`model/sample/${part}`);
  return {daemon, tab, labels: async () => (await daemon.call("GET", "v1/models/sample")).labels};
}

export async function labels_are_renamed_and_forgotten(api) {
  const {tab, labels} = await opened(api, "labels");
  await tab.click('button[aria-label="Words of spam"]');
  await tab.sees("caption", "Words with the most evidence for spam");
  await tab.looksRight("model");
  await tab.click('button[aria-label="Rename spam"]');
  await tab.write(".field:last-of-type input, form.row input", "junk & <b>");
  await tab.press("Save the name");
  await tab.sees(".notice.good", "spam is junk & <b> now.");
  equal(Object.keys(await labels()).sort(), ["ham", "junk & <b>"], "labels");
  await tab.click('button[aria-label="Forget junk & <b>"]');
  await tab.looksRight("model-question");
  await tab.press("Cancel", "dialog");
  equal((await labels())["junk & <b>"].documents, 47, "left as it is");
  await tab.click('button[aria-label="Forget junk & <b>"]');
  await tab.sees("dialog p", "Forget all 47 documents");
  await tab.press("Forget junk & <b>", "dialog");
  await tab.sees(".notice.good", "are forgotten");
  equal(Object.keys(await labels()), ["ham"], "forgotten, and gone");
}

export async function a_label_is_merged_into_another(api) {
  const {daemon, tab, labels} = await opened(api, "labels");
  await daemon.call("POST", "v1/models/sample/train?label=spma", "a mistyped label", {"Content-Type": "text/plain"});
  await tab.go("overview");
  await tab.go("model/sample/labels");
  await tab.click('button[aria-label="Merge spma"]');
  const select = await tab.page.$$eval("form.row select", (all) => all.map((one) => one.id)[0]);
  await tab.page.select(`#${select}`, "spam");
  await tab.press("Merge them");
  await tab.sees(".notice.good", "The documents of spma are spam now.");
  equal([(await labels()).spam.documents, (await labels()).spma], [48, undefined], "merged, and gone");
}

export async function words_are_those_of_the_api(api) {
  const {daemon, tab} = await opened(api, "labels");
  await tab.click('button[aria-label="Words of ham"]');
  await tab.sees("caption", "Words with the most evidence for ham");
  const {tokens} = await daemon.call("GET", "v1/models/sample/vocabulary?label=ham&limit=40");
  const shown = await tab.page.$$eval(".scroll:last-of-type tbody th", (all) => all.map((one) => one.textContent));
  equal(shown.slice(-tokens.length), tokens.map((one) => one.token), "words");
}

export async function settings_are_explained_tried_and_saved(api) {
  const {daemon, tab} = await opened(api, "settings");
  const settings = async () => (await daemon.call("GET", "v1/models/sample")).settings;
  const old = await settings();
  await tab.sees("#setting-decision-hint", "Where label and probabilities come from");
  const shown = await tab.page.$$eval("[id^=setting-]:not(p)", (all) => all.map((one) => one.id.slice(8)));
  equal(shown.sort(), Object.keys(old).filter((name) => !["preset", "tokenizer"].includes(name)).sort(), "every setting");
  await tab.press("Save");
  await tab.sees(".told", "No setting was changed");
  await tab.page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  await tab.looksRight("model-settings");
  await tab.write("#setting-length_power", "0.5");
  await tab.press("Try it on a copy");
  await tab.sees("caption", "Now and with the change, of 94 documents");
  await tab.looksRight("model-trial");
  equal(await settings(), old, "nothing is saved");
  equal((await daemon.call("GET", "v1/models")).models.map((one) => one.name), ["sample"], "the copies are gone");
  await tab.write("#setting-prior", '{"spam": 1, "ham": 3}');
  await tab.press("Save");
  await tab.sees(".told", "Saved: length_power, prior.");
  equal(await settings(), {...old, length_power: 0.5, prior: (await settings()).prior}, "saved");
  await tab.write("#setting-prior", '{"spma": 2}');
  await tab.press("Save");
  await tab.sees(".told .warn", "prior names the label 'spma', of which the model has no document.");
  await tab.write("#setting-prior", "{");
  await tab.press("Save");
  await tab.sees(".told", 'prior: "{" cannot be read');
  await tab.write("#setting-prior", JSON.stringify(old.prior));
  await tab.write("#setting-max_age", "30 days");
  await tab.press("Save");
  await tab.sees(".told", "Saved: max_age, prior.");
  equal((await settings()).max_age, 30 * 86400, "a span of time");
  await tab.write("#setting-max_age", "soon");
  await tab.press("Save");
  await tab.sees(".told", 'max_age: "soon" is no span of time');
}

export async function unsaved_settings_are_not_left_unasked(api) {
  const {tab} = await opened(api, "settings");
  equal(await tab.page.$$eval("details[open] summary", (all) => all.map((one) => one.textContent)), ["Verdicts and history"], "what is open");
  const answers = [];
  tab.page.on("dialog", (dialog) => answers.shift() ? dialog.accept() : dialog.dismiss());
  const leave = () => tab.page.evaluate(() => { location.hash = "#/overview"; });
  await tab.write("#setting-unsure_band", "0.123");
  answers.push(false);
  await leave();
  await tab.page.waitForFunction(() => location.hash === "#/model/sample/settings");
  equal(await tab.page.$eval("#setting-unsure_band", (one) => one.value), "0.123", "what was written");
  answers.push(true);
  await leave();
  await tab.sees("main h1", "Overview");
  equal(answers, [], "asked twice");
}

export async function of_a_large_model_it_is_asked_first(api) {
  const {daemon, tab} = await opened(api, "settings");
  const documents = Array.from({length: 5000}, (_, i) => ({text: `word${i % 97} other${i % 89} ${i % 2 ? "prize" : "meeting"}`, label: i % 2 ? "spam" : "ham"}));
  await daemon.call("POST", "v1/models/sample/train", {documents});
  await tab.go("overview");
  await tab.go("model/sample/settings");
  await tab.write("#setting-min_count", "1");
  await tab.press("Try it on a copy");
  await tab.sees("dialog p", "The model has 5,094 documents.");
  await tab.press("Cancel", "dialog");
  await tab.press("Try it on a copy");
  await tab.press("Try it", "dialog");
  await tab.sees("caption", "Now and with the change, of 5,000 documents"); // those that are judged for it
}

export async function settings_by_the_book_are_tried(api) {
  const {daemon, tab} = await opened(api, "labels", {awaited: [409]});
  tab.page.on("dialog", (dialog) => dialog.accept()); // changes that are not saved are left
  const set = async (change) => daemon.call("PUT", "v1/models/sample", {...(await daemon.call("GET", "v1/models/sample")).settings, ...change});
  const judged = async () => (await daemon.call("GET", "v1/models/sample/evaluation?scores=leave-one-out")).windows.at(-1);
  const shown = () => tab.page.$$eval(".told tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  await set({decision: "bayes"});
  const before = await judged();
  await tab.go("overview");
  await tab.go("model/sample/settings");
  await tab.write("#setting-smoothing", "0.05");
  await tab.press("Try it on a copy");
  await tab.sees("caption", "Now and with the change, of 94 documents");
  await set({smoothing: 0.05});
  const after = await judged();
  holds(after.log_loss !== before.log_loss, "the change changes nothing");
  const [, now, then, course] = (await shown()).find(([name]) => name === "Log-loss");
  holds(Math.abs(Number(now) - before.log_loss) < 0.01 && Math.abs(Number(then) - after.log_loss) < 0.01, `${now}, ${then}: ${before.log_loss}, ${after.log_loss}`);
  equal(course, after.log_loss < before.log_loss ? "better" : "worse", "what it is");
  await daemon.trainSample("others");
  await set({parent: "others"});
  await tab.go("overview");
  await tab.go("model/sample/settings");
  await tab.write("#setting-min_count", "2");
  await tab.press("Try it on a copy");
  await tab.sees(".notice.bad", "leave-one-out scores are not of models with a parent");
}

export async function what_a_source_taught_is_taken_back(api) {
  const {daemon, tab, labels} = await opened(api, "sources");
  await daemon.call("POST", "v1/models/sample/train?label=spam&source=mallory", "a text of mallory", {"Content-Type": "text/plain"});
  await daemon.call("POST", "v1/models/sample/train?label=spam&source=%3Cb%3E", "a text of somebody else", {"Content-Type": "text/plain"});
  await tab.go("overview");
  await tab.go("model/sample/sources");
  await tab.sees("tbody tr:nth-child(2) th", "<b>");
  await tab.click('button[aria-label="Take back what mallory taught"]');
  await tab.sees("main", "1 document would be taken back");
  await tab.write("form.panel .field input", "mallory");
  await tab.press("Preview");
  await tab.sees("h2", "Result of an undo");
  await tab.sees("main", "1 document would be taken back");
  await tab.looksRight("model-sources");
  equal((await labels()).spam.documents, 49, "a dry run changes nothing");
  await tab.click("main button.danger");
  await tab.press("Take back", "dialog");
  await tab.sees(".notice.good", "1 document taken back");
  await tab.sees("tbody", "source mallory");
  equal((await labels()).spam.documents, 48, "taken back");
  await tab.click('button[aria-label="Take back what <b> taught"]');
  await tab.sees("main", "1 document would be taken back");
}

export async function what_waits_is_learned_or_dropped(api) {
  const daemon = await api.daemon("[models]\nquarantine = users, others\n");
  await daemon.trainSample("sample");
  const teach = (id, text, label, source) => daemon.call("POST", `v1/models/sample/train?label=${label}&id=${id}&source=${source}`, text, {"Content-Type": "text/plain"});
  await teach("one", "the meeting on friday", "ham", "users");
  await teach("two", "claim your free prize", "ham", "others");
  await daemon.end("SIGTERM");
  await daemon.begin(); // what waits does so still
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees(".light.warn a", "sample: changes from sources without trust wait in the quarantine.");
  await tab.press("sample: changes from sources without trust wait in the quarantine.");
  await tab.sees("h2", "Quarantine");
  await tab.sees("tbody", "users");
  await tab.looksRight("model-quarantine");
  await tab.click('button[aria-label="Apply: users"]');
  await tab.press("Apply", "dialog");
  await tab.page.waitForFunction(() => document.querySelector('button[aria-label="Apply: users"]') === null);
  await tab.click('button[aria-label="Drop: others"]');
  await tab.press("Drop", "dialog");
  await tab.page.waitForFunction(() => ![...document.querySelectorAll("h2")].some((one) => one.textContent === "Quarantine"));
  equal((await daemon.call("GET", "v1/models/sample")).labels.ham.documents, 48, "learned");
  await tab.go("overview");
  await tab.sees(".light.good h2", "All is well");
}

export async function a_model_is_copied_exported_imported_and_deleted(api) {
  const {daemon, tab} = await opened(api, "copies", {awaited: [409]});
  await tab.looksRight("model-copies");
  await tab.page.evaluate(() => {
    window.saved = [];
    const old = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      window.saved.push(blob.size);
      return old.call(URL, blob);
    };
  });
  await tab.press("Export");
  await tab.page.waitForFunction(() => window.saved.length === 1);
  await tab.press("Back up the store");
  await tab.page.waitForFunction(() => window.saved.length === 2);
  holds(await tab.page.evaluate(() => window.saved.every((size) => size > 10000)), "sizes of the files");
  await tab.page.evaluate(() => { document.querySelectorAll("form.panel")[0].querySelector("input").value = "second"; });
  await tab.press("Create model");
  await tab.sees(".notice.good", "second is created");
  await tab.press("Create model");
  await tab.sees('[role="alert"]', "second");
  await tab.page.evaluate(() => { document.querySelectorAll("form.panel")[0].querySelector("input").value = "third"; });
  await tab.write("#strength", "20");
  await tab.press("Create model");
  await tab.sees(".notice.good", "third is created");
  const {settings} = await daemon.call("GET", "v1/models/third");
  equal([settings.parent, settings.parent_strength], ["third.prior", 20], "its parent");
  const file = join(await mkdtemp(join(tmpdir(), "bayesd-export-")), "sample.ndjson");
  await writeFile(file, await (await fetch(`${daemon.url}/v1/models/sample/export`)).text());
  await daemon.call("POST", "v1/models/sample/train?label=ham", "a further one", {"Content-Type": "text/plain"});
  await tab.go("model/sample/labels");
  await tab.go("model/sample/copies");
  await tab.sees("main .hint", "95 documents");
  await (await tab.page.$("#import")).uploadFile(file);
  await tab.press("Replace it", "dialog");
  await tab.sees("main .hint", "94 documents");
  await rm(dirname(file), {recursive: true});
  await tab.press("Delete sample");
  await tab.press("Delete sample", "dialog");
  await tab.sees("main h1", "Overview");
  holds(!(await daemon.call("GET", "v1/models")).models.some((one) => one.name === "sample"), "it is there");
}

export async function a_document_of_a_label_is_drawn(api) {
  const {daemon, tab} = await opened(api, "sample");
  const drawn = await daemon.call("GET", "v1/models/sample/sample?label=ham&length=50&seed=0");
  await tab.sees("blockquote", drawn.tokens.join(" "));
  await tab.sees("caption", "Most probable words, with 95 % intervals");
  await tab.looksRight("model-sample");
  await tab.page.$$eval("input[type=number]", (all) => { all[0].value = "7"; });
  await tab.press("Draw");
  await tab.sees("blockquote", (await daemon.call("GET", "v1/models/sample/sample?label=ham&length=50&seed=7")).tokens.join(" "));
}

export async function values_of_a_label_are_drawn(api) {
  const daemon = await api.daemon();
  await daemon.call("PUT", "v1/models/tickets", {preset: "book", fields: {country: "category", amount: "number"}});
  for (const [country, amount] of [["DE", 10], ["DE", 20], ["FR", 30]]) await daemon.call("POST", "v1/models/tickets/train", {label: "billing", values: {country, amount}});
  const tab = await api.tab(daemon);
  await tab.go("model/tickets/sample");
  const {values} = await daemon.call("GET", "v1/models/tickets/sample?label=billing&length=50&seed=0");
  await tab.sees("blockquote", `country = ${values.country}`);
  await tab.sees("main", "amount (number): 3 documents, 0 without it; mean 20, standard deviation 8.16.");
  const found = await tab.page.$$eval("table", (all) => [...all.at(-1).rows].map((row) => [...row.cells].slice(0, 3).map((cell) => cell.innerText)));
  equal(found, [["Value", "Count", "P(value | label)"], ["DE", "2", "0.6"], ["FR", "1", "0.4"]], "values");
}

export async function on_a_phone_the_actions_are_in_sight(api) {
  const {tab} = await opened(api, "labels", {device: PHONE});
  for (const part of ["labels", "sources"]) {
    await tab.go(`model/sample/${part}`);
    await tab.page.waitForSelector("tbody button");
    const buttons = await tab.page.$$eval("tbody button", (all) => all.map((one) => one.getBoundingClientRect()).map(({right, height}) => ({right, height})));
    holds(buttons.length > 0 && buttons.every(({right, height}) => right <= PHONE.width && height <= 40), `${part}: ${JSON.stringify(buttons)}`);
  }
}
