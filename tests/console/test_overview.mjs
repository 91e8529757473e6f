// SPDX-License-Identifier: Apache-2.0
import {equal, holds} from "./browser.mjs";

export async function says_what_needs_a_person(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees(".light.good h2", "All is well");
  await tab.sees("main", "There is no model yet");
  await tab.sees(".day", "none in ten minutes");
  await daemon.call("POST", "v1/models/notes/train", {documents: [{text: "one", label: "a"}, {text: "two", label: "b"}]});
  await tab.sees(".light.warn li", "notes: a has 1 document, 1 other label too few");
  await daemon.call("POST", "v1/models/odd/train?label=%3Cimg%20src%3Dx%3E", "one", {"Content-Type": "text/plain"});
  await tab.sees(".light.warn li", "odd knows one label only, <img src=x>");
  await tab.looksRight("overview-warning");
}

export async function shows_models_and_figures(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  await daemon.call("POST", "v1/models/sample/classify", {text: "free prize"});
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees(".light.good", "All is well");
  const {labels, documents, vocabulary} = await daemon.call("GET", "v1/models/sample");
  const cells = await tab.page.$$eval("tbody tr:first-child > *", (all) => all.map((one) => one.textContent));
  const {windows} = await daemon.call("GET", "v1/models/sample/evaluation");
  equal(cells.slice(0, 4), ["sample", `ham ${labels.ham.documents}, spam ${labels.spam.documents}`, String(documents),
    vocabulary.toLocaleString("en")], "the row of the model");
  holds(Math.abs(parseFloat(cells[4]) - 100 * windows[0].accuracy) <= 0.051, `accuracy ${cells[4]}, ${windows[0].accuracy}`);
  await tab.sees(".tile", "free on the disk");
  await tab.sees(".tile", "1 since the start");
  await daemon.call("POST", "v1/models/sample/classify", {documents: Array(9).fill({text: "free prize"})});
  await tab.sees(".tile", "10 since the start");
  await tab.sees(".day h2", "10 verdicts in the last 24 hours");
  holds((await tab.page.$$eval(".traffic title", (all) => all.map((one) => one.textContent))).some((text) => / (?:10|[1-9]) verdicts?$/.test(text)), "the bar of now");
  await tab.looksRight("overview");
}

export async function goes_to_other_views_by_keyboard(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.page.keyboard.press("Tab");
  equal(await tab.page.evaluate(() => document.activeElement.className), "skip", "the first stop");
  await tab.page.keyboard.press("Enter");
  equal(await tab.page.evaluate(() => document.activeElement.id), "main", "where it leads");
  await tab.page.focus('#nav a[data-view="try"]');
  await tab.page.keyboard.press("Enter");
  await tab.sees("main h1", "Try");
  equal(await tab.page.evaluate(() => document.activeElement.textContent), "Try", "the heading has the focus");
  equal(await tab.page.title(), "Try - bayesd", "the title");
}

export async function the_colours_can_be_chosen_and_stay(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon);
  await tab.go("overview");
  const colour = () => tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await colour();
  await tab.press("Dark", ".tools");
  const dark = await colour();
  holds(light !== dark, "the page stays as it was");
  await tab.page.reload();
  await tab.settled();
  equal(await colour(), dark, "after a reload");
}

export async function a_daemon_that_goes_is_missed(api) {
  const daemon = await api.daemon();
  const tab = await api.tab(daemon, {awaited: ["net::ERR_"]}); // the browser tells of every request that fails
  await tab.go("overview");
  await tab.sees(".light.good", "All is well");
  await daemon.end("SIGKILL");
  await tab.sees(".light.bad", "Can't reach bayesd, retrying.");
  holds(await tab.page.$(".away .tile"), "the old figures are grey");
  await daemon.begin();
  await tab.sees(".light.good", "All is well");
  holds(!(await tab.page.$(".away")), "the new ones are not");
}

export async function of_many_models_the_learning_are_counted(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("ready");
  for (let i = 0; i < 12; i++) await daemon.call("POST", `v1/models/user-${i}/train`, {documents: [{text: "one", label: "a"}, {text: "two", label: "b"}]});
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees(".light.good h2", "All is well");
  await tab.sees("#learning summary", "1 of 13 models is ready, 12 still learn.");
  await tab.press("1 of 13 models is ready, 12 still learn.");
  await tab.sees("#learning li a", "user-7: a has 1 document");
  await tab.looksRight("overview-many");
  await tab.write('input[type="search"]', "user-1");
  await tab.press("Show");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 3);
  await tab.click('tbody th a');
  await tab.sees("main h1", "Model");
}

// A figure of few documents, or of one label, says nothing.
export async function an_accuracy_of_few_documents_is_not_shown(api) {
  const daemon = await api.daemon();
  const taught = (model, n, labels) => daemon.call("POST", `v1/models/${model}/train`,
    {documents: Array.from({length: n}, (_, i) => ({text: `word${i % 7} other${i % 5} ${labels[i % labels.length]}`, label: labels[i % labels.length]}))});
  await taught("few", 49, ["a", "b"]);
  await taught("many", 50, ["a", "b"]);
  await taught("one", 60, ["a"]);
  const tab = await api.tab(daemon);
  await tab.go("overview");
  await tab.sees("tbody", "many");
  const shown = await tab.page.$$eval("tbody tr", (rows) => Object.fromEntries(rows.map((row) => [row.cells[0].textContent, row.cells[4].textContent])));
  equal([shown.few, shown.one, / %$/.test(shown.many)], ["-", "-", true], JSON.stringify(shown));
  equal(await tab.page.$$eval("th", (all) => all.map((one) => one.textContent)).then((all) => all.includes("Accuracy (last 1,000)")), true, "its name");
}

// What the daemon says of models of an older version lasts a moment: it is said for it here.
export async function models_of_an_older_version_are_told(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("ready");
  const tab = await api.tab(daemon);
  const old = {name: "old", state: "upgrading", reason: "its counts are computed anew for this version"};
  const told = {
    "/readyz": async () => ({status: "ready", upgrade: {models: 3, models_left: 2, entries: 6047, entries_done: 1234}}),
    "/v1/models": async () => ({models: [old, ...(await daemon.call("GET", "v1/models")).models]}),
    "/v1/models/old": async () => old,
  };
  await tab.page.setRequestInterception(true);
  tab.page.on("request", async (request) => {
    const answer = request.method() === "GET" && told[new URL(request.url()).pathname];
    if (!answer) return void request.continue();
    await request.respond({status: 200, contentType: "application/json", body: JSON.stringify(await answer())});
  });
  await tab.go("overview");
  await tab.sees(".light.warn li", "An older version has stored 3 models, which this one computes anew: 2 to go, 1,234 of 6,047 changes are done. The other models answer.");
  await tab.sees("tbody tr", "upgrading");
  for (const view of ["model/old", "quality/old", "next/old", "suspects/old", "history/old"]) {
    await tab.go(view);
    await tab.sees("main .notice", "");
  }
  await tab.go("model/old");
  await tab.sees("main .notice", "An older version has stored this model.");
  await tab.looksRight("model-upgrading");
}
