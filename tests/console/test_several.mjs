// SPDX-License-Identifier: Apache-2.0
// A model whose documents have several labels, in every view.
import {mkdir, mkdtemp, rm, writeFile} from "node:fs/promises";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {equal, holds} from "./browser.mjs";
import {until} from "./daemon.mjs";

const LABELS = ["invoice", "power", "travel"];
const MODEL = "v1/models/tags";

// 96 documents with each set of the labels, of words of their labels among others.
function documents() {
  return Array.from({length: 96}, (_, i) => {
    const labels = LABELS.filter((_, bit) => (i >> bit) & 1);
    return {id: `d${i}`, labels, text: `${labels.flatMap((label) => [0, 1, 2].map((k) => `${label}${(i + k) % 4}`)).join(" ")} common w${i % 20}`};
  });
}

async function opened(api, view, options) {
  const daemon = await api.daemon();
  await daemon.call("PUT", MODEL, {label_set: "several"});
  await daemon.call("POST", `${MODEL}/train?source=tests`, {documents: documents()});
  const tab = await api.tab(daemon, options);
  await tab.go(view);
  return {daemon, tab, labels: async () => Object.fromEntries(Object.entries((await daemon.call("GET", MODEL)).labels).map(([name, {documents: n}]) => [name, n]))};
}

const texts = (tab, selector) => tab.page.$$eval(selector, (all) => all.map((one) => one.textContent));

export async function every_view_shows_it(api) {
  const {tab} = await opened(api, "overview");
  await tab.sees("td", "invoice 48, power 48, travel 48");
  await tab.looksRight("several-overview");
  for (const [view, selector, part] of [["train/tags", "main", "Choose files"], ["model/tags/labels", "tbody th", "travel"], ["model/tags/settings", "label", "label_set"],
    ["model/tags/sources", "tbody th", "tests"], ["model/tags/copies", "h2", "A new model"], ["quality/tags", "caption", "Each label"]]) {
    await tab.go(view);
    await tab.sees(selector, part);
    await tab.looksRight(`several-${view.replace("/tags", "").replace("/", "-")}`);
  }
  for (const view of ["history/tags", "model/tags/sample"]) {
    await tab.go(view);
    await tab.sees("p.notice", "This is for models whose documents have one label each");
    await tab.looksRight(`several-${view.replace("/tags", "").replace("/", "-")}`);
  }
}

export async function wrong_labels_are_taken_off_and_put_on(api) {
  const {daemon, tab} = await opened(api, "overview");
  const labelsOf = async (id) => (await daemon.call("GET", `${MODEL}/documents/${id}`)).labels;
  const change = async (i, how) => daemon.call("PATCH", `${MODEL}/documents/d${i}`, how);
  await change(7, {remove: ["power"]}); // had all three
  await change(9, {add: ["travel"]});
  const {suspects} = await daemon.call("GET", `${MODEL}/suspects`);
  equal(suspects.slice(0, 2).map((row) => `${row.id} ${row.suggested} ${row.label}`).sort(), ["d7 add power", "d9 remove travel"], "found");
  await tab.go("suspects/tags");
  await tab.sees("main", "a label is too many, or missing, for");
  await tab.looksRight("several-suspects");
  const [first, second] = suspects;
  await tab.page.focus("tbody tr");
  await tab.page.keyboard.press("y");
  await tab.sees("tbody tr:first-child", "corrected");
  equal((await labelsOf(first.id)).includes(first.label), first.suggested === "add", "corrected");
  await tab.page.keyboard.press("n");
  await tab.sees("tbody tr:nth-child(2)", "kept");
  equal((await labelsOf(second.id)).includes(second.label), second.suggested === "remove", "kept");
  await tab.page.keyboard.press("k");
  await tab.page.keyboard.press("u");
  await tab.sees("tbody tr:first-child", "kept");
  equal((await labelsOf(first.id)).includes(first.label), first.suggested === "remove", "taken back");
  const left = (await daemon.call("GET", `${MODEL}/suspects`)).suspects.map((row) => row.id);
  holds(![first.id, second.id].some((id) => left.includes(id)), "somebody has looked at them");
}

export async function documents_are_labelled_next(api) {
  const {daemon, tab} = await opened(api, "overview");
  const open = ["power1 power2 common", "travel0 invoice1 invoice2 common", "nothing known", "invoice0 travel1 travel2 power3"];
  await daemon.call("POST", `${MODEL}/train`, {documents: open.map((text, i) => ({id: `open-${i}`, text, label: null}))});
  const next = async () => (await daemon.call("GET", `${MODEL}/next`)).next;
  const labelsOf = async (id) => (await daemon.call("GET", `${MODEL}/documents/${id}`)).labels ?? null;
  const [first, second] = await next();
  await tab.go("next/tags");
  await tab.sees(".card h2", first.id);
  const isOn = () => tab.page.$$eval(".card button[aria-pressed]", (all) => all.filter((one) => one.getAttribute("aria-pressed") === "true").map((one) => one.textContent.slice(2)));
  equal((await isOn()).sort(), [...first.labels].sort(), "as the model gives them");
  await tab.looksRight("several-next");
  const keys = await tab.page.$$eval(".card button[aria-pressed]", (all) => all.map((one) => one.textContent.slice(2)));
  const changed = first.labels.includes(keys[0]) ? first.labels.filter((label) => label !== keys[0]) : [keys[0], ...first.labels];
  await tab.page.focus(".card");
  await tab.page.keyboard.press("1");
  equal((await isOn()).sort(), [...changed].sort(), "the first one is changed");
  await tab.page.focus(".card");
  await tab.page.keyboard.press("Enter");
  await tab.sees(".card h2", second.id);
  equal(await labelsOf(first.id), [...changed].sort(), "learned");
  await tab.sees("main", "1 document labelled; 1 of them differ");
  await tab.page.focus(".card");
  await tab.page.keyboard.press("u");
  await tab.sees(".card h2", first.id);
  equal(await labelsOf(first.id), null, "taken back");
  for (const label of await isOn()) await tab.press(`${keys.indexOf(label) + 1} ${label}`, ".card");
  await tab.press("Enter None of the labels", ".card");
  await tab.sees(".card h2", second.id);
  equal(await labelsOf(first.id), [], "none of them");
}

export async function a_verdict_shows_each_label_and_teaches_several(api) {
  const {daemon, tab, labels} = await opened(api, "try/tags");
  await tab.write("textarea", "invoice1 invoice2 power1 power2 common");
  await tab.press("Classify");
  await tab.sees(".verdict .badge", "power");
  equal((await texts(tab, ".verdict bdi")), ["invoice", "power"], "badges");
  const verdict = await daemon.call("POST", `${MODEL}/classify?explain=1`, {text: "invoice1 invoice2 power1 power2 common"});
  equal((await texts(tab, "table.bars tbody th")).slice(0, 3).sort(), LABELS, "bars");
  equal(await tab.page.$eval(".columns select", (one) => one.value), verdict.explained, "what is explained");
  await tab.sees("mark", verdict.explained);
  await tab.looksRight("several-try");
  const other = LABELS.find((label) => label !== verdict.explained && verdict.labels.includes(label));
  await tab.write(".columns select", other);
  await tab.sees(".legend", `for ${other}`);
  await tab.sees("mark[class^=for]", `${other}1`);
  equal(await tab.page.$eval("input[name=labels]", (one) => one.value), "invoice; power", "the field");
  await tab.write("input[name=labels]", " travel ;power; travel");
  await tab.press("Teach");
  await tab.sees(".notice.good", "Learned: power; travel.");
  equal(await labels(), {invoice: 48, power: 49, travel: 49}, "learned");
  await tab.press("Take it back");
  await tab.sees(".notice.good", "Taken back.");
  equal(await labels(), {invoice: 48, power: 48, travel: 48}, "taken back");
  await tab.write("textarea", "w1 w2 w3 common");
  await tab.press("Classify");
  await tab.sees(".verdict", "none of the labels");
  await tab.looksRight("several-try-none");
  await tab.press("Teach");
  await tab.sees(".notice.good", "Learned: none of the labels.");
  equal((await daemon.call("GET", MODEL)).documents, 97, "a document with none");
  await tab.write("input[name=labels]", "Travel; new one");
  await tab.press("Teach");
  await tab.sees("[role=alert]", "The label Travel is new. It differs from travel");
  await tab.press("Learn as travel");
  await tab.sees(".notice.good", "Relabelled: new one; travel.");
  equal(await labels(), {invoice: 48, "new one": 1, power: 48, travel: 49}, "a new label");
  await tab.press("Take it back");
  await tab.sees(".notice.good", "Taken back: it is none of the labels again.");
}

export async function a_model_is_made_and_learns_tables_and_folders(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon, {awaited: [404]});
  const folder = await mkdtemp(join(tmpdir(), "bayesd-several-"));
  api.ends.push(() => rm(folder, {recursive: true}));
  await tab.go("model");
  await tab.sees("h2", "A new model");
  const [name, set] = await tab.page.$$eval("form input, form select:last-of-type", (all) => [all[0].id, all.at(-1).id]);
  await tab.write(`#${name}`, "tags");
  await tab.write(`#${set}`, "several");
  await tab.press("Create model");
  await tab.sees("main", "Choose files");
  equal((await daemon.call("GET", MODEL)).settings.label_set, "several", "made");
  await tab.go("try/tags");
  await tab.write("textarea", "the bill for power");
  await tab.press("Classify");
  await tab.sees(".notice", "The model has learned nothing yet.");
  await tab.write("input[name=labels]", "invoice; power");
  await tab.press("Teach");
  await tab.sees(".verdict", "invoice");
  const learn = async (files, before) => {
    for (const [path, content] of Object.entries(files)) await writeFile(join(folder, path), content);
    await tab.go("overview");
    await tab.go("train/tags");
    await (await tab.page.$("#train-files")).uploadFile(...Object.keys(files).map((path) => join(folder, path)));
    await tab.sees("h2", "What will be learned");
    await before?.();
    await tab.press("Learn them");
    await tab.sees("h3", "Done");
  };
  const labelsOf = async (id) => (await daemon.call("GET", `${MODEL}/documents/${id}`)).labels;
  await learn({"t.csv": "id,text,labels\n1,tea cup,a; b\n2,milk,\n3,sugar,b\n"}, async () => {
    equal(await tab.page.$$eval("thead select", (all) => all.map((one) => one.value)), ["id", "text", "label"], "guessed");
    await tab.sees(".hint", "Separated by \";\"");
    await tab.looksRight("several-train-table");
  });
  equal([await labelsOf(1), await labelsOf(2), await labelsOf(3)], [["a", "b"], [], ["b"]], "the table");
  await learn({"l.ndjson": '{"id": "4", "text": "jam", "labels": ["c"]}\n{"id": "5", "text": "honey"}\n{"id": "6", "text": "no", "labels": []}\n{"id": "7", "text": "one", "label": "a"}\n'},
    () => tab.write("#train-label", "c; d"));
  equal([await labelsOf(4), await labelsOf(5), await labelsOf(6)], [["c"], ["c", "d"], []], "the lines");
  await tab.sees("td", "several labels");
  await mkdir(join(folder, "all", "e; f"), {recursive: true});
  await writeFile(join(folder, "all", "e; f", "8.txt"), "butter");
  await tab.go("overview");
  await tab.go("train/tags");
  await (await tab.page.waitForSelector("#train-folder")).uploadFile(join(folder, "all"));
  await tab.sees("main label", "The label is the name of the folder: e; f");
  await tab.press("Learn them");
  await tab.sees("h3", "Done");
  const {labels} = await daemon.call("GET", MODEL);
  equal([labels.e.documents, labels.f.documents], [1, 1], "the folder");
}

export async function what_waits_in_the_quarantine_has_its_labels(api) {
  const daemon = await api.daemon("[models]\nquarantine = stranger\n");
  await daemon.call("PUT", MODEL, {label_set: "several"});
  for (const [id, labels] of [["1", ["b", "a"]], ["2", []]]) await daemon.call("POST", `${MODEL}/train?source=stranger`, {id, text: "tea", labels});
  const tab = await api.tab(daemon);
  await tab.go("model/tags/sources");
  await tab.sees("td", "a; b");
  await tab.sees("td", "none of the labels");
  await tab.click('button[aria-label="Apply: stranger"]');
  await tab.press("Apply", "dialog");
  await until("they are learned", async () => (await daemon.call("GET", MODEL)).documents === 2);
}

export async function labels_are_renamed_and_taken_away(api) {
  const {daemon, tab, labels} = await opened(api, "model/tags/labels");
  holds((await tab.page.$('button[aria-label^="Words of"]')) === null, "words are of one label");
  await tab.click('button[aria-label="Rename invoice"]');
  await tab.write("form.row input", "bill");
  await tab.press("Save the name");
  await tab.sees(".notice.good", "invoice is bill now.");
  await tab.click('button[aria-label="Forget travel"]');
  await tab.sees("dialog p", "Take the label travel from its 48 documents? They stay");
  await tab.press("Forget travel", "dialog");
  await tab.sees(".notice.good", "No document is travel any more.");
  equal([await labels(), (await daemon.call("GET", MODEL)).documents], [{bill: 48, power: 48}, 96], "the labels");
}

export async function its_quality_is_that_of_the_api(api) {
  const {daemon, tab} = await opened(api, "quality/tags");
  await tab.sees("caption", "Each label");
  const report = await daemon.call("GET", `${MODEL}/evaluation`);
  const rows = await tab.page.$$eval("section:last-of-type tbody tr", (all) => all.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent)));
  equal(rows, Object.entries(report.labels).map(([label, one]) => [label, String(one.documents), String(one.given)]), "the labels");
  await tab.sees("tbody th", "Mean average precision");
}

export async function its_settings_are_tried_and_saved(api) {
  const {daemon, tab} = await opened(api, "model/tags/settings");
  await tab.write("#setting-optimize", "precision");
  await tab.press("Try it on a copy");
  await tab.sees("tbody th", "Micro-F1");
  await tab.looksRight("several-trial");
  await tab.press("Save");
  await tab.sees(".notice.good", "Saved: optimize.");
  const {settings} = await daemon.call("GET", MODEL);
  equal([settings.optimize, settings.label_set], ["precision", "several"], "saved");
}

export async function of_many_labels_the_first_are_shown(api) {
  const daemon = await api.daemon();
  await daemon.call("PUT", MODEL, {label_set: "several"});
  const many = Array.from({length: 240}, (_, i) => ({text: `word${i % 120} common`, labels: [`<b>label</b> ${i % 120}`, "common"]}));
  await daemon.call("POST", `${MODEL}/train`, {documents: many});
  const tab = await api.tab(daemon);
  await tab.go("try/tags");
  await tab.write("textarea", "word7 common");
  await tab.press("Classify");
  await tab.sees(".hint", "And 91 labels that are less probable.");
  equal(await tab.page.$$eval(".columns select option", (all) => all.length), 121, "choices");
  await tab.looksRight("several-try-many");
  await tab.go("quality/tags");
  await tab.sees("caption", "The 100 labels of 121 with the lowest F1");
  await tab.looksRight("several-quality-many");
}
