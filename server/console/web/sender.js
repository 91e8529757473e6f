// SPDX-License-Identifier: Apache-2.0
// Sends documents to be learned in batches, and counts the results. A document that is sent twice is unchanged, so a second
// run over the same files goes on where the first one stopped.

import {json, model as of} from "./api.js";

const BATCH_DOCUMENTS = 200, BATCH_BYTES = 2 << 20;
const TRIES = 30, PAUSE = 1000; // of a daemon that says "later"

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Sender {
  // documents: as files.js yields them. changed() is called whenever there is news.
  constructor(name, documents, totalBytes, changed) {
    Object.assign(this, {name, documents, totalBytes, changed});
    this.source = `console-${new Date().toISOString().slice(0, 19)}Z`; // this run's alone, so that it can be undone
    this.counts = {};
    this.errors = []; // [path, place, why]
    this.done = 0;
    this.bytes = 0;
    this.state = "running"; // "paused", "stopped", "over"
    this.active = 0; // milliseconds at work, without the pauses
    this.wake = null;
  }

  pause() {
    if (this.state === "running") this.state = "paused";
    this.changed();
  }

  resume() {
    if (this.state === "paused") this.state = "running";
    this.wake?.();
    this.changed();
  }

  stop() {
    if (this.state !== "over") this.state = "stopped";
    this.wake?.();
  }

  // Documents that this run has changed.
  get taught() {
    return ["learned", "relabelled", "updated"].reduce((sum, status) => sum + (this.counts[status] ?? 0), 0);
  }

  get rate() {
    return this.active > 0 ? (1000 * this.done) / this.active : 0;
  }

  get secondsLeft() {
    return this.bytes > 0 ? ((this.active / 1000) * (this.totalBytes - this.bytes)) / this.bytes : Infinity;
  }

  async run() {
    let batch = [], size = 0;
    for await (const one of this.documents) {
      batch.push(one);
      size += one.bytes;
      if (batch.length < BATCH_DOCUMENTS && size < BATCH_BYTES) continue;
      await this.send(batch);
      [batch, size] = [[], 0];
      if (this.state === "paused") await this.rest();
      if (this.state === "stopped") return this.end();
    }
    await this.send(batch);
    return this.end();
  }

  // Nothing is under way until resume() or stop().
  async rest() {
    const woken = new Promise((resolve) => { this.wake = resolve; });
    this.changed();
    await woken;
    this.wake = null;
  }

  get isResting() {
    return this.wake !== null;
  }

  end() {
    if (this.state !== "stopped") this.state = "over";
    this.changed();
  }

  async send(batch) {
    const begun = Date.now();
    const good = batch.filter((one) => one.document);
    for (const one of batch) if (one.error) this.fail(one, one.error);
    if (good.length > 0) {
      const results = await this.ask(good);
      results.forEach((result, i) => {
        if (result.error) this.fail(good[i], result.error.detail ?? result.error.title);
        else this.counts[result.status] = (this.counts[result.status] ?? 0) + 1;
      });
    }
    this.active += Date.now() - begun;
    this.done += batch.length;
    this.bytes += batch.reduce((sum, one) => sum + one.bytes, 0);
    this.changed();
  }

  fail(one, why) {
    this.counts.failed = (this.counts.failed ?? 0) + 1;
    this.errors.push([one.path, one.place, why]);
  }

  async ask(good) {
    for (let i = 1; ; i++) {
      try {
        return (await json("POST", of(this.name, ["train"], {source: this.source}), {documents: good.map((one) => one.document)})).results;
      } catch (error) {
        if (i === TRIES || this.state === "stopped" || ![0, 429, 503].includes(error.status)) throw error;
        await sleep(PAUSE);
      }
    }
  }
}
