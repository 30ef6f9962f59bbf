// What the page shows: the model, the axes of the plane and the point on it.

import { valueAt } from "./form.js";
import { nameInWords, unitOf } from "./words.js";

// model: the last valid one; text: its file; draft: whether the form has changes that are not (yet) valid
export const state = { model: null, text: "", draft: false, numbers: [], x: null, y: null, metric: "ratio", tuned: null, run: null };

export const numberOf = (name) => state.numbers.find((number) => number.name === name);

export function valueOf(name) {
  const number = numberOf(name);
  return valueAt(state.model, number.path) ?? number.value;
}

export function axis(name, ends = null) {
  const number = numberOf(name), [low, high] = ends ?? [number.low, number.high];
  const power = 10 ** Math.floor(Math.log10((high - low) / 100));
  const step = number.whole ? Math.max(1, Math.round(power)) : power;
  const unit = unitOf(name), title = `${nameInWords(name)}${unit ? `, ${unit}` : ""}`;
  return { name, low, high, step, whole: number.whole, title };
}

/** Alpha and beta of the first Vegas class, otherwise the first two numbers. */
export function firstAxes() {
  const names = state.numbers.map((number) => number.name);
  const alpha = names.find((name) => name.endsWith(".alpha_packets") && names.includes(name.replace("alpha", "beta")));
  const [x, y] = alpha ? [alpha, alpha.replace(/alpha_packets$/, "beta_packets")] : names;
  return [axis(x), axis(y)];
}

export function snapped({ step, low, high, whole }, value) {
  const inside = Math.min(high, Math.max(low, value));
  const near = low + Math.round((inside - low) / step) * step;
  return whole ? Math.round(near) : Number(near.toPrecision(6));
}

/** Whether the axes are alpha and beta of one class. */
export function isPair() {
  return state.x.name.endsWith(".alpha_packets") && state.y.name === state.x.name.replace(/alpha_packets$/, "beta_packets");
}

/** What the plane depends on: everything but the values of the two numbers on its axes. */
export function planeKey() {
  const model = structuredClone(state.model);
  for (const { name } of [state.x, state.y]) {
    const path = numberOf(name).path, table = valueAt(model, path.slice(0, -1));
    if (table) delete table[path.at(-1)];
  }
  // beta moves with alpha where it is not on an axis itself
  const moves = state.x.name.endsWith(".alpha_packets") && !state.y.name.endsWith(".beta_packets");
  return JSON.stringify([moves ? state.model : model, state.x, state.y, state.tuned]);
}
