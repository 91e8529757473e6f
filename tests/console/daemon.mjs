// SPDX-License-Identifier: Apache-2.0
// A daemon of a test's own, and calls of its API.
import {execFile, spawn} from "node:child_process";
import {mkdtemp, readFile, rm, writeFile} from "node:fs/promises";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {promisify} from "node:util";

const READY = /bayesd: ready on (http:\/\/[^\s/]+)/;
// Without options of the daemon: what is BAYESD_SLOW for other tests is none.
const ENVIRONMENT = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BAYESD_")));
const SAMPLE = join(process.env.TOP, "scripts", "sample");

export const sample = async (name) =>
  (await readFile(join(SAMPLE, `${name}.ndjson`), "utf8")).trim().split("\n").map((line) => JSON.parse(line));

// Waits for a state, however long a slow machine takes; main.mjs ends a test that hangs.
export async function until(what, holds) {
  for (const late = Date.now() + 120000; Date.now() < late; await new Promise((resolve) => setTimeout(resolve, 50))) if (await holds()) return;
  throw new Error(`waited in vain: ${what}`);
}

export class Daemon {
  // `config` is the text of a configuration file, or nothing.
  static async start(build, config) {
    const daemon = new Daemon();
    daemon.binary = join(build, "bayesd");
    daemon.folder = await mkdtemp(join(tmpdir(), "bayesd-console-"));
    daemon.listen = "127.0.0.1:0";
    daemon.options = ["--data", join(daemon.folder, "data")];
    if (config) {
      await writeFile(join(daemon.folder, "bayesd.conf"), config, {mode: 0o600});
      daemon.options.push("--config", join(daemon.folder, "bayesd.conf"));
    }
    await daemon.begin();
    return daemon;
  }

  // Starts it; again after end(), where it was.
  async begin() {
    this.process = spawn(this.binary, ["--listen", this.listen, ...this.options], {stdio: ["ignore", "pipe", "pipe"], env: ENVIRONMENT});
    this.url = await this.ready();
    this.listen = new URL(this.url).host;
  }

  async end(signal) {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill(signal);
    await gone;
  }

  ready() {
    return new Promise((resolve, reject) => {
      let said = "";
      const hear = (piece) => {
        said += piece;
        const found = READY.exec(said);
        if (found) resolve(found[1]);
      };
      this.process.stdout.on("data", hear);
      this.process.stderr.on("data", hear);
      this.process.on("exit", (status) => reject(new Error(`the daemon ended with ${status}: ${said}`)));
    });
  }

  // A token for the models of a pattern.
  async newToken(name, role, models) {
    const made = promisify(execFile)(this.binary, ["--data", join(this.folder, "data"), "--new-token", name, "--role", role, "--models", models], {env: ENVIRONMENT});
    const token = (await made).stdout.trim();
    this.process.kill("SIGHUP");
    await until("the token is taken", () => this.takes(token));
    return token;
  }

  async revokeToken(name, token) {
    await promisify(execFile)(this.binary, ["--data", join(this.folder, "data"), "--revoke-token", name], {env: ENVIRONMENT});
    this.process.kill("SIGHUP");
    await until("the token is refused", async () => !(await this.takes(token)));
  }

  async takes(token) {
    return (await fetch(`${this.url}/v1/models`, {headers: {Authorization: `Bearer ${token}`}})).ok;
  }

  // What is done while the daemon does not go on: it has answered nothing of it.
  async stoppedWhile(action) {
    this.process.kill("SIGSTOP");
    try {
      await action();
    } finally {
      this.process.kill("SIGCONT");
    }
  }

  async call(method, path, body, headers = {}) {
    const isJson = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
    const response = await fetch(`${this.url}/${path}`, {method, body: isJson ? JSON.stringify(body) : body,
      headers: {...(isJson ? {"Content-Type": "application/json"} : {}), ...headers}});
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  }

  // The model of the README's first run: 94 mails and messages in seven languages.
  async trainSample(model, headers) {
    const documents = await sample("train");
    return this.call("POST", `v1/models/${model}/train`, {documents}, headers);
  }

  async stop() {
    await this.end("SIGTERM");
    await rm(this.folder, {recursive: true});
  }
}
