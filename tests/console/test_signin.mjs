// SPDX-License-Identifier: Apache-2.0
import {writeFile} from "node:fs/promises";
import {join} from "node:path";
import {equal, holds} from "./browser.mjs";

const ADMIN = "an-admin-token-of-the-tests";
const CONFIG = `[tokens]\nadmin = ${ADMIN}\n`;

const fill = async (tab, token) => {
  await tab.sees("main h1", "Sign in");
  await tab.write('input[name="token"]', token);
  await tab.press("Sign in");
};

export async function a_token_opens_the_console(api) {
  const daemon = await api.daemon(CONFIG);
  const tab = await api.tab(daemon, {awaited: [401]});
  await tab.go("overview");
  await tab.sees("main h1", "Sign in");
  await tab.looksRight("signin");
  await fill(tab, "a-token-that-nobody-knows");
  await tab.sees('[role="alert"]', "token");
  await fill(tab, ADMIN);
  await tab.sees("main h1", "Overview");
  equal(await tab.page.cookies(), [], "cookies");
  const stored = await tab.page.evaluate(() => JSON.stringify([{...localStorage}, {...sessionStorage}]));
  holds(!stored.includes(ADMIN), `the token is in the storage: ${stored}`);
  await tab.page.reload();
  await tab.sees("main h1", "Sign in");
}

export async function it_is_kept_for_the_tab_on_request(api) {
  const daemon = await api.daemon(CONFIG);
  const tab = await api.tab(daemon, {awaited: [401]});
  await tab.go("overview");
  await tab.sees("main h1", "Sign in");
  await tab.click("#keep");
  await fill(tab, ADMIN);
  await tab.sees("main h1", "Overview");
  await tab.page.reload();
  await tab.sees("main h1", "Overview");
  await tab.press("Sign out", ".tools");
  await tab.sees("main h1", "Sign in");
  await tab.page.reload();
  await tab.sees("main h1", "Sign in");
}

export async function a_token_that_may_only_ask_sees_the_overview(api) {
  const daemon = await api.daemon(CONFIG);
  await daemon.trainSample("sample", {Authorization: `Bearer ${ADMIN}`});
  const asker = await daemon.newToken("asker", "classify", "*");
  const tab = await api.tab(daemon, {awaited: [401, 403]});
  await tab.go("overview");
  await fill(tab, asker);
  await tab.sees(".light.good h2", "All is well");
  await tab.sees("tbody", "sample");
  let asked = 0;
  tab.page.on("request", (request) => { asked += request.url().includes("/quarantine") ? 1 : 0; });
  await tab.go("try/sample");
  await tab.page.evaluate(() => { location.hash = "#/overview"; });
  await tab.sees("tbody", "sample");
  equal(asked, 0, "requests for what is refused");
}

export async function a_token_for_some_models_shows_these(api) {
  const daemon = await api.daemon(CONFIG);
  const admin = {Authorization: `Bearer ${ADMIN}`};
  for (const model of ["user-ann", "zoo"]) await daemon.trainSample(model, admin);
  const reader = await daemon.newToken("reader", "classify", "user-*");
  const tab = await api.tab(daemon, {awaited: [401, 403]});
  await tab.go("overview");
  await fill(tab, reader);
  await tab.sees("tbody", "user-ann");
  await tab.sees(".hint", "This token is for some models");
  // The figures of all models are asked for once; the models again and again.
  let asked = 0;
  tab.page.on("request", (request) => { asked += request.url().endsWith("/metrics") ? 1 : 0; });
  for (let i = 0; i < 2; i++) await tab.page.waitForResponse((response) => response.url().includes("/v1/models"));
  equal(asked, 0, "requests for what is refused");
  holds(!(await tab.text("main")).includes("zoo"), "a model that it is not for");
  await tab.go("try/user-ann");
  await tab.sees("main h1", "Try");
  await tab.write("textarea", "free prize");
  await tab.press("Classify");
  await tab.sees("main h2", "Verdict");
  const offered = await tab.page.$$eval("nav a, main button", (all) => all.map((one) => one.textContent));
  for (const name of ["Train", "History", "Label next", "spam", "Teach"]) holds(!offered.includes(name), `${name} is offered`);
  await tab.go("model/user-ann/settings");
  await tab.sees("main table", "ham");
  const parts = await tab.page.$$eval(".parts a, main button", (all) => all.map((one) => one.textContent));
  equal([...new Set(parts)], ["Labels", "Sample", "Words"], "what is offered of a model");
}

// An undo by a source is for administrators.
export async function a_token_that_may_train_is_offered_no_undo_of_a_run(api) {
  const daemon = await api.daemon(CONFIG);
  const trainer = await daemon.newToken("trainer", "train", "*");
  const tab = await api.tab(daemon, {awaited: [401]});
  await tab.go("train/made");
  await fill(tab, trainer);
  const file = join(daemon.folder, "one.txt");
  await writeFile(file, "cheap pills");
  await tab.page.waitForSelector("#train-files");
  await (await tab.page.$("#train-files")).uploadFile(file);
  await tab.sees("h2", "What will be learned");
  await tab.write("#train-label", "spam");
  await tab.press("Learn them");
  await tab.sees("h3", "Done");
  holds(!(await tab.text("main")).includes("Undo this run"), "an undo is offered");
}
