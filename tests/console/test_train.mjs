// SPDX-License-Identifier: Apache-2.0
import {mkdir, mkdtemp, rm, writeFile} from "node:fs/promises";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {equal, holds} from "./browser.mjs";
import {sample} from "./daemon.mjs";

// A folder with these files, {name: content}, and their paths.
async function written(api, files) {
  const folder = await mkdtemp(join(tmpdir(), "bayesd-train-"));
  api.ends.push(() => rm(folder, {recursive: true}));
  const paths = [];
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), {recursive: true});
    await writeFile(join(folder, name), content);
    paths.push(join(folder, name));
  }
  return {folder, paths};
}

// Chooses these files, {name: content}, in the view Train of a model.
async function choose(api, files, {model = "made", input = "#train-files", settings, awaited = [], daemon} = {}) {
  daemon ??= await api.daemon();
  if (settings) await daemon.call("PUT", `v1/models/${model}`, settings);
  const tab = await api.tab(daemon, {awaited});
  const {folder, paths} = await written(api, files);
  await tab.go(`train/${model}`);
  const chooser = await tab.page.waitForSelector(input);
  await chooser.uploadFile(...(input === "#train-folder" ? [folder] : paths));
  await tab.sees("h2", "What will be learned");
  return {daemon, tab};
}

const learn = async (tab) => {
  await tab.press("Learn them");
  await tab.sees("h3", "Done");
};
const counted = (tab) => tab.page.$$eval("tbody tr", (rows) => rows.map((row) => row.innerText.split("\t").join(" ")).sort());

// As spreadsheets write them: each umlaut comes, whatever the charset, the separator and the line ends are.
export async function tables_of_spreadsheets_keep_their_letters(api) {
  const table = "text;label\r\nM\u00fcll am Stra\u00dfenrand;Entsorgung\r\nRechnung f\u00fcr M\u00e4rz;Buchhaltung\r\n";
  const wide = Buffer.concat([Buffer.from([255, 254]), Buffer.from(table, "utf16le")]);
  const forms = {"latin.csv": Buffer.from(table, "latin1"), "wide.csv": wide, "marked.csv": "\uFEFF" + table, "said.csv": "sep=;\r\n" + table,
    "returns.csv": table.replaceAll("\r\n", "\r")};
  for (const [name, content] of Object.entries(forms)) {
    const {daemon, tab} = await choose(api, {[name]: content});
    equal(await tab.page.$$eval("thead select", (all) => all.map((one) => one.value)), ["text", "label"], `${name}: guessed`);
    await learn(tab);
    equal(await counted(tab), ["learned 2"], `${name}: what came of them`);
    const {tokens} = await daemon.call("GET", "v1/models/made/vocabulary?label=Entsorgung&limit=100");
    holds(tokens.some(({token}) => token === "m\u00fcll"), `${name}: ${JSON.stringify(tokens.map(({token}) => token))}`);
  }
}

export async function a_table_is_mapped_by_sight(api) {
  const csv = 'Ticket,Subject,Team,Body\r\n1,"Printer, again",it,"It says ""no paper""\r\nbut has some"\r\n2,Holiday,hr,when\r\n3,Salary,hr,\r\n4,,it,\r\n';
  const {daemon, tab} = await choose(api, {"tickets.csv": csv});
  equal(await tab.page.$$eval("thead select", (all) => all.map((one) => one.value)), ["id", "text", "label", "text"], "guessed");
  await tab.looksRight("train");
  await tab.page.select('select[aria-label="Column Team is"]', "label");
  await learn(tab);
  equal(await counted(tab), ["failed 1", "learned 3", "tickets.csv 4 the row has no text"], "what came of them");
  await tab.sees("button", "Save the error as CSV");
  await tab.looksRight("train-done");
  const model = await daemon.call("GET", "v1/models/made");
  equal([model.labels.hr.documents, model.labels.it.documents], [2, 1], "documents");
  equal((await daemon.call("GET", "v1/models/made/documents/1")).label, "it", "the id");
  const text = 'Printer, again\nIt says "no paper"\r\nbut has some';
  const receipt = await daemon.call("POST", "v1/models/made/train?label=it&id=1", text, {"Content-Type": "text/plain"});
  equal(receipt.status, "unchanged", "the text of the cells");
}

export async function values_of_fields_come_from_columns(api) {
  const csv = "land;price;what;note\nDE;3,5;a;x\nDE;cheap;a;x\nFR;1,234;b;y\n";
  const {daemon, tab} = await choose(api, {"rows.csv": csv}, {settings: {fields: {land: "category", price: "number"}}});
  equal(await tab.page.$$eval("thead select", (all) => all.map((one) => one.value)), ["field:land", "field:price", "", "label"], "guessed");
  await tab.page.select('select[aria-label="Column note is"]', "");
  await tab.page.select('select[aria-label="Column what is"]', "label");
  await learn(tab);
  equal(await counted(tab), ["failed 1", "learned 2", "rows.csv 2 a value that should be a number is none, or may be two: write 1,234 without the comma"], "what came of them");
  const shown = await daemon.call("GET", "v1/models/made/distribution?label=a");
  holds(JSON.stringify(shown.fields).includes("DE"), JSON.stringify(shown.fields));
  const {fields} = await daemon.call("GET", "v1/models/made/distribution?label=b");
  equal(fields.find((one) => one.field === "price").mean, 1.234, "the comma is a point");
}

export async function a_quote_that_stays_open_is_no_row(api) {
  const {daemon, tab} = await choose(api, {"open.csv": 'text,label\nfirst,a\n"second,b\nthird,a\n'});
  await learn(tab);
  equal(await counted(tab), ["failed 1", "learned 1", "open.csv 2 a quote of this row is never closed"], "what came of them");
  equal((await daemon.call("GET", "v1/models/made")).documents, 1, "documents");
}

export async function a_daemon_that_goes_meanwhile_is_waited_for(api) {
  const rows = Array.from({length: 3000}, (_, i) => `${i},word${i % 97} other${i % 89} and ${"more ".repeat(40)},${i % 2 ? "a" : "b"}`);
  const {daemon, tab} = await choose(api, {"many.csv": `id,text,label\n${rows.join("\n")}\n`}, {awaited: ["net::ERR_"]});
  await daemon.stoppedWhile(async () => {
    await tab.press("Learn them");
    await tab.press("Pause");
  });
  await tab.sees(".told", "Paused.");
  await daemon.end("SIGKILL");
  const refused = new Promise((resolve) => tab.page.once("requestfailed", resolve));
  await tab.press("Go on");
  await refused;
  await daemon.begin();
  await tab.sees("h3", "Done");
  equal(await counted(tab), ["learned 3,000"], "what came of them");
  equal((await daemon.call("GET", "v1/models/made")).documents, 3000, "documents");
}

export async function folders_are_labels(api) {
  const mails = (await sample("train")).filter((one) => one.mail);
  const files = {};
  for (const one of mails) files[`${one.label}/${one.id}.eml`] = one.mail;
  files["ham/note.txt"] = "a plain text";
  const {daemon, tab} = await choose(api, files, {input: "#train-folder"});
  await tab.sees("label", "ham, spam");
  await learn(tab);
  const {labels} = await daemon.call("GET", "v1/models/made");
  for (const label of ["ham", "spam"]) {
    const wanted = mails.filter((one) => one.label === label).length + (label === "ham" ? 1 : 0);
    equal(labels[label].documents, wanted, label);
  }
}

export async function binary_files_are_said(api) {
  const zeros = Buffer.alloc(400), binary = "it is binary, neither a text nor a mail";
  const {daemon, tab} = await choose(api, {"zeros.txt": zeros, "zeros.mbox": zeros, "note.txt": "a plain text",
    "wide.txt": Buffer.from("\uFEFFwords of two bytes", "utf16le"),
    "odd.eml": Buffer.concat([Buffer.from("From: a@b\r\nSubject: odd\r\n\r\nhello\r\n"), zeros])});
  await tab.write("#train-label", "spam");
  await learn(tab);
  equal(await counted(tab), ["failed 2", "learned 3", `zeros.mbox 1 ${binary}`, `zeros.txt 1 ${binary}`], "what came of them");
  equal((await daemon.call("GET", "v1/models/made")).documents, 3, "documents");
}

export async function an_mbox_is_taken_apart(api) {
  const mails = (await sample("train")).filter((one) => one.mail && one.label === "spam").map((one) => one.mail.replaceAll("\r\n", "\n"));
  const long = "x".repeat(70) + "\n";
  const mbox = mails.map((mail, i) => `From a@b Mon Jan  1 00:00:00 2024\n${mail}\n${i === 1 ? long.repeat(20000) : ""}\n`).join("");
  const {daemon, tab} = await choose(api, {"spam.mbox": mbox});
  holds(await tab.page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent === "Learn them").disabled), "learned without a label");
  await tab.write("#train-label", "spam");
  await learn(tab);
  equal(await counted(tab), [`learned ${mails.length}`], "what came of them");
  // The daemon takes the same mbox apart in the same way.
  const again = await daemon.call("POST", "v1/models/made/train?label=spam", mbox, {"Content-Type": "application/mbox"});
  equal([again.unchanged, again.results.length], [mails.length, mails.length], JSON.stringify(again.results.filter((one) => one.status !== "unchanged")));
}

// An mbox as Windows, an old Mac and a download leave it is as it was, for the console and for the daemon.
export async function an_mbox_with_a_mark_or_lines_of_cr_is_as_it_was(api) {
  const mail = (i) => `From a@b Mon Jan  1 00:00:00 2024\nFrom: sender${i}@example.com\nTo: me@example.com\nDate: Mon, 1 Jan 2024 00:00:0${i} +0000\n` +
    `Subject: letter ${i}\nMessage-ID: <${i}@example.com>\n\nthe text of number ${i}\nFrom here on it is quoted by nobody\n>From here on it is\n>>From two\n\n`;
  const plain = [1, 2, 3].map(mail).join("");
  const forms = {mark: Buffer.from(`\uFEFF${plain}`), cr: Buffer.from(plain.replaceAll("\n", "\r")), both: Buffer.from(`\uFEFF${plain.replaceAll("\n", "\r")}`),
    crlf: Buffer.from(plain.replaceAll("\n", "\r\n")), wide: Buffer.from(`\uFEFF${plain}`, "utf16le")};
  const {daemon, tab} = await choose(api, {"plain.mbox": plain});
  await tab.write("#train-label", "spam");
  await learn(tab);
  equal(await counted(tab), ["learned 3"], "what came of the plain one");
  for (const [name, bytes] of Object.entries(forms)) {
    const {paths} = await written(api, {[`${name}.mbox`]: bytes});
    await (await tab.page.$("#train-files")).uploadFile(...paths);
    await tab.sees("h2", "What will be learned");
    await tab.sees("main", "1 mbox; ");
    await tab.write("#train-label", "spam");
    await learn(tab);
    equal(await counted(tab), ["unchanged 3"], name);
  }
  const again = await daemon.call("POST", "v1/models/made/train?label=spam", plain, {"Content-Type": "application/mbox"});
  equal(again.unchanged, 3, "the daemon takes it apart in the same way");
}

// What may stand before the header of a mail in a file: it is the same mail, with the same words.
export async function mails_of_files_are_known_behind_what_stands_before(api) {
  const mail = "From: a@example.com\nTo: b@example.com\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: prize\nMessage-ID: <1@example.com>\n\nbuy the prize now\n";
  const before = {mark: "\uFEFF", empty: "\n\n", blanks: "   \n", blank: " ", pop: "+OK 310 octets\n", smtp: "EHLO x\nMAIL FROM:<a@example.com>\nDATA\n"};
  const files = {"plain.eml": mail, "cr.eml": mail.replaceAll("\n", "\r"), "wide.eml": Buffer.from(`\uFEFF${mail}`, "utf16le")};
  for (const [name, text] of Object.entries(before)) files[`${name}.eml`] = text + mail;
  const {daemon, tab} = await choose(api, files);
  await tab.write("#train-label", "spam");
  await learn(tab);
  equal(await counted(tab), ["learned 1", `unchanged ${Object.keys(files).length - 1}`], "what came of them");
  equal((await daemon.call("GET", "v1/models/made")).documents, 1, "documents");
}

export async function lines_bring_their_labels_and_errors_are_saved(api) {
  const lines = [...(await sample("train")).map((one) => JSON.stringify(one)), "{broken", '{"text": "no label"}', '{"text": "x", "label": ""}', '{"text": 7, "label": "ham"}'];
  const {tab} = await choose(api, {"all.ndjson": lines.join("\n")}, {model: "sample"});
  await tab.page.evaluate(() => {
    window.saved = [];
    const old = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      blob.text().then((text) => window.saved.push(text));
      return old.call(URL, blob);
    };
  });
  await learn(tab);
  const rows = await counted(tab);
  holds(rows.includes("failed 4") && rows.includes("learned 94"), rows.join("|"));
  await tab.press("Save all 4 errors as CSV");
  await tab.page.waitForFunction(() => window.saved.length > 0);
  const saved = (await tab.page.evaluate(() => window.saved[0])).trim().split("\r\n");
  equal([saved.length, saved[0]], [5, "file,document,error"], "the table of errors");
  holds(saved.some((row) => row.startsWith("all.ndjson,95,")), saved.join("|"));
}

export async function it_pauses_stops_and_goes_on(api) {
  const rows = Array.from({length: 3000}, (_, i) => `${i},word${i % 97} other${i % 89} and ${"more ".repeat(40)},${i % 2 ? "a" : "b"}`);
  const {daemon, tab} = await choose(api, {"many.csv": `id,text,label\n${rows.join("\n")}\n`});
  await daemon.stoppedWhile(async () => {
    await tab.press("Learn them");
    await tab.press("Pause");
  });
  await tab.sees(".told", "Paused.");
  await tab.looksRight("train-paused");
  const held = (await daemon.call("GET", "v1/models/made")).documents;
  equal(await tab.text(".told").then((text) => Number(text.replace(",", "").split(" ")[0])), held, "what it says it has sent");
  holds(held < 3000, "it did not pause");
  await daemon.stoppedWhile(async () => {
    await tab.press("Go on");
    await tab.press("Stop");
  });
  await tab.sees("h3", "Stopped");
  const [stopped] = await counted(tab);
  const input = await tab.page.$("#train-files");
  holds(input && /^learned \d+$/.test(stopped), stopped);
  equal((await daemon.call("GET", "v1/models/made")).documents, Number(stopped.split(" ")[1]), "what was learned stays");
}

export async function files_and_folders_are_dropped(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon);
  const {folder, paths} = await written(api, {"spam/1.eml": "Subject: prize\n\nbuy the prize now\n", "ham/1.eml": "Subject: lake\n\nthe trip to the lake\n", "rows.csv": "text,label\na trip,ham\n"});
  await tab.go("train");
  equal(await tab.page.$eval("main input", (one) => one.value), "mail", "the name of a first model");
  await tab.drag(".drop", [join(folder, "spam"), join(folder, "ham")], true);
  await tab.page.waitForSelector(".drop.over");
  await tab.drag(".drop", [join(folder, "spam"), join(folder, "ham")]);
  await tab.sees("main", "2 documents; ");
  await tab.sees("label", "The label is the name of the folder: spam, ham");
  holds(await tab.page.$(".drop.over") === null, "the place is marked still");
  await learn(tab);
  await tab.drag(".drop", [paths[2]]);
  await tab.sees("main", "1 table; ");
  await learn(tab);
  const {labels} = await daemon.call("GET", "v1/models/mail");
  equal([labels.ham.documents, labels.spam.documents], [2, 1], "documents");
}

export async function a_file_that_is_dropped_beside_leaves_the_page(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon);
  const {paths} = await written(api, {"one.txt": "a text"});
  await tab.go("train/made");
  await tab.page.evaluate(() => {
    window.seen = {};
    window.addEventListener("dragover", (event) => { window.seen[event.target.closest(".drop") ? "place" : "beside"] = [event.defaultPrevented, event.dataTransfer.dropEffect]; });
  });
  await tab.drag(".top", paths, true);
  equal(await tab.page.evaluate(() => window.seen.beside), [true, "none"], "beside the place: the browser must not take it, either");
  await tab.drag(".drop", paths);
  await tab.sees("main", "1 document; ");
}

export async function what_is_dropped_meanwhile_must_wait(api) {
  const rows = Array.from({length: 1500}, (_, i) => `"text number ${i}",${i % 2 ? "ham" : "spam"}`).join("\n");
  const {daemon, tab} = await choose(api, {"rows.csv": `text,label\n${rows}\n`});
  const {paths} = await written(api, {"more.csv": "text,label\na trip,ham\n"});
  await daemon.stoppedWhile(async () => {
    await tab.press("Learn them");
    await tab.sees("h2", "Learning");
    await tab.drag(".drop", paths);
    await tab.sees(".notice.warn", "Other files are being learned");
  });
  await tab.sees("h3", "Done");
  equal(await counted(tab), ["learned 1,500"], "what came of them");
  await tab.drag(".drop", paths);
  await tab.sees("h2", "What will be learned");
  await learn(tab);
  equal((await daemon.call("GET", "v1/models/made")).documents, 1501, "documents");
}

// A model whose label spam has one document, and a table whose labels differ from it in what a reader does not notice.
async function nearlySpam(api, labels) {
  const daemon = await api.daemon();
  await daemon.call("POST", "v1/models/made/train?label=spam", "the first text", {"Content-Type": "text/plain"});
  const rows = labels.map((label, i) => `text number ${i},${label}\n`).join("");
  return choose(api, {"rows.csv": `text,label\n${rows}`}, {daemon});
}

const documentsOfLabels = async (daemon) => Object.fromEntries(Object.entries((await daemon.call("GET", "v1/models/made")).labels)
  .map(([label, {documents}]) => [label, documents]).filter(([, documents]) => documents > 0));

export async function a_label_that_is_nearly_an_old_one_is_asked_about(api) {
  for (const near of ["Spam", "sp\u200Bam", "\uFEFFspam\u2060", "\uFF53pam", "sp\u00ADAM"]) {
    const {daemon, tab} = await nearlySpam(api, ["ham", near, near]);
    await tab.press("Learn them");
    await tab.sees(".notice.warn", "It differs from spam, which has 1 document, only by case or by invisible characters.");
    equal(await documentsOfLabels(daemon), {spam: 1}, "learned before the answer");
    await tab.press("Learn as spam");
    await tab.sees("h3", "Done");
    equal(await documentsOfLabels(daemon), {ham: 1, spam: 3}, JSON.stringify(near));
  }
}

export async function a_label_that_is_meant_is_a_new_one(api) {
  const {daemon, tab} = await nearlySpam(api, ["Spam", "SPAM", "Spam"]);
  await tab.press("Learn them");
  await tab.sees(".notice.warn", "The label Spam is new.");
  await tab.looksRight("train-label");
  await tab.press("Learn as a new label");
  await tab.sees(".notice.warn", "The label SPAM is new.");
  await tab.press("Do not learn");
  await tab.sees("h3", "Stopped");
  equal(await documentsOfLabels(daemon), {Spam: 1, spam: 1}, "what was said");
}

export async function forms_of_one_label_are_not_asked_about(api) {
  const {daemon, tab} = await nearlySpam(api, ["m\u00FCll", "mu\u0308ll", " spam ", "ham"]);
  await learn(tab);
  equal(await documentsOfLabels(daemon), {ham: 1, "m\u00FCll": 2, spam: 2}, "composed, without blanks");
}

export async function a_mistyped_label_is_asked_about(api) {
  const {daemon, tab} = await nearlySpam(api, ["spma", "ham"]);
  await tab.press("Learn them");
  await tab.sees(".notice.warn", "It differs from spam, which has 1 document, by one or two letters.");
  await tab.press("Learn as spam");
  await tab.sees("h3", "Done");
  equal(await documentsOfLabels(daemon), {ham: 1, spam: 2}, "learned");
}

export async function a_run_is_undone_apart_from_others(api) {
  const {daemon, tab} = await nearlySpam(api, ["ham", "ham", "spam"]);
  await learn(tab);
  equal(await documentsOfLabels(daemon), {ham: 2, spam: 2}, "learned");
  const {sources} = await daemon.call("GET", "v1/models/made/sources");
  holds(sources.some(({source, documents}) => /^console-20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(source) && documents === 3), JSON.stringify(sources));
  await tab.press("Undo this run");
  await tab.press("Undo this run", "dialog");
  await tab.sees(".notice.good", "3 documents taken back.");
  equal(await documentsOfLabels(daemon), {spam: 1}, "what was there before");
}

export async function a_mistyped_model_is_asked_about(api) {
  const {daemon, tab} = await nearlySpam(api, ["ham"]);
  const models = async () => (await daemon.call("GET", "v1/models")).models.map(({name}) => name);
  await tab.go("train/maed");
  await tab.sees(".notice.warn", "There is no model maed. It differs from made by one or two letters.");
  await tab.looksRight("train-model");
  holds(await tab.page.$("#train-files") === null, "files can be chosen before the answer");
  await tab.press("Use made");
  await tab.sees("h1", "Train");
  await tab.page.waitForSelector("#train-files");
  equal(await tab.page.$eval("main select, main input", (one) => one.value), "made", "the model that is shown");
  await tab.go("train/Made");
  await tab.sees(".notice.warn", "It differs from made only by case");
  await tab.press("Make the model Made");
  const {paths} = await written(api, {"rows.csv": "text,label\na trip,ham\n"});
  await (await tab.page.waitForSelector("#train-files")).uploadFile(...paths);
  await tab.sees("h2", "What will be learned");
  equal(await models(), ["made"], "made before it learns");
  await learn(tab);
  equal((await models()).sort(), ["Made", "made"], "the name that was meant");
  await tab.go("train/other");
  await tab.page.waitForSelector("#train-files");
  equal(await tab.page.$(".notice.warn"), null, "a name that is like no other one");
}

export async function a_mistyped_model_is_asked_about_where_it_is_made(api) {
  const {daemon, tab} = await nearlySpam(api, ["ham"]);
  const names = async () => (await daemon.call("GET", "v1/models")).models.map(({name}) => name).sort();
  const maker = "form:has(input[pattern])";
  await tab.go("model/made/copies");
  await tab.write(`${maker} input`, "mad");
  await tab.press("Create model", maker);
  await tab.sees(".notice.warn", "There is no model mad. It differs from made by one or two letters.");
  await tab.press("Cancel", maker);
  equal(await names(), ["made"], "cancelled");
  await tab.press("Create model", maker);
  await tab.sees(".notice.warn", "There is no model mad.");
  await tab.press("Make the model mad", maker);
  await tab.page.waitForFunction(() => location.hash === "#/train/mad");
  equal(await names(), ["mad", "made"], "made");
}
