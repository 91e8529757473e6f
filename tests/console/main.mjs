// SPDX-License-Identifier: Apache-2.0
// Drives the console of a daemon with a browser: node main.mjs BUILD [NAME]...; every test_*.mjs beside this file is
// a module of tests, of which those are run whose 'module.test' contains a NAME. A test is an exported function
// (api) that throws. SCREENSHOTS is a folder for pictures. The last line is 'N passed, N failed'.
import {readdir} from "node:fs/promises";
import {launch, Tab} from "./browser.mjs";
import {Daemon} from "./daemon.mjs";

const [build, ...names] = process.argv.slice(2);
let passed = 0, failed = 0;

// What a test gets: daemons and tabs of its own, which go when it ends.
class Api {
  constructor(browser) {
    this.browser = browser;
    this.ends = [];
  }

  async daemon(config) {
    const daemon = await Daemon.start(build, config);
    this.ends.push(() => daemon.stop());
    return daemon;
  }

  async tab(daemon, options = {}) {
    const tab = await Tab.open(this.browser, daemon.url, {folder: process.env.SCREENSHOTS, ...options});
    this.ends.push(() => tab.close());
    return tab;
  }

  // Everything is closed, whatever happens to one of them; the first fault is told.
  async close() {
    const faults = [];
    for (const end of this.ends.reverse()) await end().catch((error) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  }
}

// A test that hangs fails.
function within(seconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${seconds} seconds`)), 1000 * seconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function run(name, test, browser) {
  const api = new Api(browser);
  const faults = [];
  await within(300, test(api)).catch((error) => faults.push(error));
  await within(60, api.close()).catch((error) => faults.push(error));
  if (faults.length === 0) {
    passed++;
    console.log(`ok     ${name}`);
  } else {
    failed++;
    console.log(`FAILED ${name}\n${faults.map((error) => error.stack ?? error).join("\n")}`);
  }
}

const browser = await launch();
try {
  const files = (await readdir(new URL(".", import.meta.url))).filter((file) => /^test_.*\.mjs$/.test(file)).sort();
  for (const file of files) {
    const tests = await import(new URL(file, import.meta.url));
    for (const [name, test] of Object.entries(tests)) {
      const whole = `${file.slice(0, -4)}.${name}`;
      if (names.length === 0 || names.some((part) => whole.includes(part))) await run(whole, test, browser);
    }
  }
} finally {
  await browser.close();
}
if (passed + failed === 0) failed++;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
