// Colours of the page, which follow the light or dark theme of the browser.

const ORDER = ["vegas", "reno", "cubic"];

/** Value of a colour of style.css, such as "ink". */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Colours of flow classes by their congestion controls, as in vegasfluid's plots. */
export function controlColours(controls) {
  const taken = [];
  for (const control of Object.values(controls)) {
    const own = ORDER.indexOf(control);
    let number = own;
    if (own < 0 || taken.includes(own)) {
      number = 0;
      while (taken.includes(number)) number += 1;
    }
    taken.push(number);
  }
  return Object.fromEntries(Object.keys(controls).map((name, i) => [name, colour(`c${taken[i] % 7}`)]));
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mix(from, to, part) {
  return from.map((value, i) => value + (to[i] - value) * part);
}

/** What the plane can show: its name, how a value becomes 0 to 1, and its ends in words. */
export const METRICS = {
  ratio: { words: "Ratio of goodputs", column: 2, diverging: true, low: 1 / 16, high: 16, log: true },
  jain: { words: "Jain's fairness index", column: 3, low: null, high: 1 },
  delay: { words: "Queueing delay", column: 4, low: null, high: null, scale: 1e3, unit: "ms" },
  drops: { words: "Drops", column: 5, low: null, high: null, scale: 100, unit: "%", log: true },
  utilisation: { words: "Utilisation", column: 6, low: null, high: 1, scale: 100, unit: "%" },
};

/**
 * A function from a part of the scale, 0 to 1, to red, green and blue. A scale with two ends has the
 * colours of those that have more: below 1 of the other flows, above it of the tuned ones.
 */
export function ramp(metric, others, tuned) {
  const neutral = rgb(colour("neutral"));
  if (metric.diverging) {
    const [below, above] = [rgb(others), rgb(tuned)];
    return (part) => (part < 0.5 ? mix(neutral, below, 1 - 2 * part) : mix(neutral, above, 2 * part - 1));
  }
  const [middle, end] = [rgb(colour("c4")), rgb(colour("high"))];
  return (part) => (part < 0.5 ? mix(neutral, middle, 2 * part) : mix(middle, end, 2 * part - 1));
}
