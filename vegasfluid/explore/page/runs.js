// Runs of the fluid model: one at a time, the latest wishes next, and an accurate one when nothing moves any more.

import { ask } from "./api.js";
import { markAsOld, showFailure } from "./result.js";
import { state } from "./state.js";

const PAUSE = 400; // after the last move before the accurate run, ms

export class Runs {
  /** `take(found, model)` shows what a run of `model` has found. */
  constructor(take) {
    Object.assign(this, { take, waiting: null, sending: false });
  }

  /** Run the model, with other numbers where they are given, as soon as the present run is done. */
  request(numbers = null) {
    markAsOld();
    clearTimeout(this.timer);
    this.accurate?.abort();
    this.waiting = { numbers, model: state.model };
    if (!this.sending) this.send();
  }

  async send() {
    this.sending = true;
    while (this.waiting) {
      const { numbers, model } = this.waiting;
      this.waiting = null;
      try {
        this.take(await ask("run", { document: model, set: numbers, tuned: state.tuned }), model);
      } catch (error) {
        showFailure([{ path: "", message: error.message }]);
      }
    }
    this.sending = false;
    this.timer = setTimeout(() => this.refine(), PAUSE);
  }

  async refine() {
    this.accurate = new AbortController();
    const model = state.model;
    try {
      const found = await ask("run", { document: model, tuned: state.tuned, accurate: true }, this.accurate.signal);
      if (model === state.model && !this.sending) this.take(found, model);
    } catch (error) {
      if (error.name !== "AbortError") showFailure([{ path: "", message: error.message }]);
    }
  }
}
