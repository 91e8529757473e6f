// SPDX-License-Identifier: Apache-2.0
// A browser, and what a test says of its pages.
import {mkdir, readFile} from "node:fs/promises";
import {createRequire} from "node:module";
import {join} from "node:path";
import puppeteer from "puppeteer-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Not `isMobile`: the browser would load the page again, and show something else.
export const PHONE = {width: 390, height: 844, deviceScaleFactor: 1};
export const DESK = {width: 1280, height: 860, deviceScaleFactor: 1};
const FORMS = [["light", DESK], ["dark", DESK], ["light", PHONE], ["dark", PHONE]];

export const launch = () => puppeteer.launch({executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"]});

export function holds(condition, what) {
  if (!condition) throw new Error(what);
}

export function equal(got, want, what) {
  holds(JSON.stringify(got) === JSON.stringify(want), `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

// A page of a daemon's console. Whatever the browser complains of is a fault, but the statuses that the test awaits.
export class Tab {
  static async open(browser, url, {awaited = [], folder, device = DESK} = {}) {
    const tab = new Tab();
    tab.context = await browser.createBrowserContext();
    tab.page = await tab.context.newPage();
    tab.url = url;
    tab.folder = folder;
    tab.faults = [];
    // A number is a status of HTTP, a text a part of what the browser says.
    const isAwaited = (text) => awaited.some((one) => text.includes(typeof one === "number" ? `status of ${one} ` : one));
    tab.page.on("console", (message) => {
      if (["error", "warn"].includes(message.type()) && !isAwaited(message.text())) tab.faults.push(message.text());
    });
    tab.page.on("pageerror", (error) => tab.faults.push(String(error)));
    tab.page.on("request", (request) => {
      const address = request.url();
      if (!address.startsWith(url) && !address.startsWith("data:") && !address.startsWith("blob:")) tab.faults.push(`asks ${address}`);
    });
    tab.page.setDefaultTimeout(60000);
    await tab.page.setViewport(device);
    await tab.page.emulateMediaFeatures([{name: "prefers-color-scheme", value: "light"}]);
    return tab;
  }

  async go(hash) {
    await this.page.goto(`${this.url}/#/${hash}`);
    await this.settled();
  }

  settled() {
    return this.page.waitForFunction(() => document.querySelector("main h1") && document.querySelector("main").getAttribute("aria-busy") !== "true");
  }

  // Waits for an element whose text has this, and gives the text.
  async sees(selector, part) {
    try {
      await this.page.waitForFunction((one, text) => [...document.querySelectorAll(one)].some((e) => e.textContent.includes(text)), {}, selector, part);
    } catch {
      throw new Error(`no ${selector} with ${JSON.stringify(part)} in: ${(await this.text("main")).slice(0, 1500)}`);
    }
  }

  text(selector) {
    return this.page.$eval(selector, (element) => element.innerText);
  }

  async press(name, inside = "main") {
    const button = await this.page.evaluateHandle((where, text) => [...document.querySelectorAll(`${where} button, ${where} a, ${where} summary`)]
      .find((one) => one.textContent.trim() === text), inside, name);
    holds(await button.evaluate((one) => Boolean(one)), `no button ${name}`);
    await button.evaluate((one) => one.click());
  }

  // What is found is clicked at once: a page that is being drawn anew may replace it.
  async click(selector) {
    await this.page.waitForFunction((one) => {
      const found = document.querySelector(one);
      found?.click();
      return Boolean(found);
    }, {}, selector);
  }

  // Drags these files over the middle of an element, and drops them there unless `isOnlyOver`.
  async drag(selector, files, isOnlyOver = false) {
    const {x, y} = await this.page.$eval(selector, (element) => {
      element.scrollIntoView({block: "center"});
      const box = element.getBoundingClientRect();
      return {x: box.x + box.width / 2, y: box.y + box.height / 2};
    });
    const protocol = await this.page.createCDPSession();
    for (const type of ["dragEnter", "dragOver", ...(isOnlyOver ? [] : ["drop"])]) {
      await protocol.send("Input.dispatchDragEvent", {type, x, y, data: {items: [], files, dragOperationsMask: 1}});
    }
    await protocol.detach();
  }

  async write(selector, text) {
    await this.page.$eval(selector, (element, value) => {
      element.value = value;
      element.dispatchEvent(new Event("input", {bubbles: true}));
      element.dispatchEvent(new Event("change", {bubbles: true}));
    }, text);
  }

  // No violation of accessibility and nothing wider than the screen, in light and dark, on a desk and on a phone; and
  // pictures of them.
  async looksRight(name) {
    for (const [scheme, device] of FORMS) {
      await this.page.setViewport(device);
      await this.page.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
      await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const form = `${name}, ${scheme}, ${device.width} pixels`;
      await this.isAccessible(form);
      const width = await this.page.evaluate(() => document.documentElement.scrollWidth);
      holds(width <= device.width, `${form}: ${width} pixels wide`);
      const beyond = await this.page.$$eval("main :is(a, button)", (all) => all.filter((one) => one.getBoundingClientRect().right > window.innerWidth).map((one) => one.ariaLabel ?? one.textContent));
      holds(beyond.length === 0, `${form}: out of sight: ${beyond}`);
      if (this.folder) await this.picture(`${name}-${scheme}${device === PHONE ? "-phone" : ""}`);
    }
    await this.page.setViewport(DESK);
    await this.page.emulateMediaFeatures([{name: "prefers-color-scheme", value: "light"}]);
  }

  async isAccessible(form) {
    await this.page.evaluate(`typeof axe === "object" || (() => {${axe}})()`);
    const found = await this.page.evaluate(async () => (await window.axe.run(document, {resultTypes: ["violations"]})).violations
      .map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.any[0]?.message ?? ""}`).join(" | ")}`));
    holds(found.length === 0, `${form}: ${found.join("\n")}`);
  }

  async picture(name) {
    await mkdir(this.folder, {recursive: true});
    await this.page.screenshot({path: join(this.folder, `${name}.webp`), type: "webp", quality: 50, fullPage: false});
  }

  async close() {
    await this.context.close();
    holds(this.faults.length === 0, `the browser complains: ${this.faults.join("\n")}`);
  }
}
