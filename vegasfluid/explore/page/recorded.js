// Answers from runs that are saved in this page, in place of a server's.

import { valueAt, withValue } from "./form.js";

const STEP = 90; // between two lines of a recommendation that is shown again, ms
const COURSES = ["cwnd", "goodput_mbps", "rtt_ms", "queue"];
const saved = JSON.parse(document.getElementById("saved-runs").textContent);
const NO_FORM = { model: [], link: [], flows: [], law: {}, aqm: {}, traffic: {} };
let network = saved.networks[0];

/** Values of the two numbers of the plane in a document. */
function numbersIn(document, { numbers }) {
  return numbers.map((number) => valueAt(document, number.path) ?? number.value);
}

/** A document with other values of the two numbers. */
function withNumbers(document, { numbers }, values) {
  return numbers.reduce((table, number, i) => withValue(table, number.path, values[i]), document);
}

/** Whether a document is that of a network but for the two numbers. */
function isOf(document, found) {
  const [one, other] = [document, found.document].map((table) => JSON.stringify(withNumbers(table, found, [0, 0])));
  return one === other;
}

/** The run whose setting is nearest, relative to the spans of the axes. */
function nearestRun(values) {
  const spans = network.numbers.map(({ low, high }) => high - low);
  const distance = (run) => run.at.reduce((sum, value, i) => sum + ((value - values[i]) / spans[i]) ** 2, 0);
  return network.runs.reduce((best, run) => (distance(run) < distance(best) ? run : best));
}

/** Samples of a run by quantity and by name of the class or link. */
function seriesOf(run) {
  const bytes = Uint8Array.from(atob(run.samples), (letter) => letter.charCodeAt(0)), series = { ...network.series };
  let begin = 0;
  COURSES.forEach((course, i) => {
    const count = (course === "goodput_mbps" ? series.interval : series.time).length;
    series[course] = Object.fromEntries(network.series[course].map((name) => {
      const values = Array.from(bytes.subarray(begin, begin + count), (level) => run.tops[i] * level / 255);
      begin += count;
      return [name, values];
    }));
  });
  return series;
}

function opened(found) {
  network = found;
  const { name, notes, document, text, numbers, tuned } = found;
  return { name, notes, document, text, numbers, tuned };
}

const answers = {
  start: () => ({
    version: saved.version, formats: [], ...opened(network),
    schema: { ...NO_FORM, models: Object.fromEntries(saved.networks.map(({ name }) => [name, ""])) },
  }),

  /** Open a network by its name; from a link, one with the same document but for the two numbers. */
  read({ model, document }) {
    const found = saved.networks.find((one) => (document ? isOf(document, one) : one.name === model));
    if (!found) return { errors: [{ path: "", message: "This page has no runs of that network." }] };
    return document ? { ...opened(found), document } : opened(found);
  },

  run({ document, set }) {
    const values = numbersIn(document, network).map((value, i) => set?.[network.numbers[i].name] ?? value);
    const run = nearestRun(values);
    return { ...run, saved: true, accurate: true, document: withNumbers(document, network, run.at), series: seriesOf(run) };
  },
};

export async function ask(name, body) {
  return answers[name](body);
}

function pause(signal) {
  return new Promise((done, fail) => {
    if (signal?.aborted) fail(new DOMException("cancelled", "AbortError"));
    else setTimeout(done, STEP);
  });
}

const MISSING = {
  packets: "This page has packet runs of the first and the recommended setting only.",
  why: "Why explains a recommendation: press Recommend first.",
};

/** The saved parts of packet runs or reasons at a setting. */
function partsAt(name, document) {
  const values = numbersIn(document, network), found = network[name].find(({ at }) => at.every((value, i) => value === values[i]));
  return found ? found.parts : [{ errors: [{ message: MISSING[name] }] }];
}

export async function* parts(name, { document }, signal) {
  if (name === "plane") {
    yield* network.plane;
    yield { done: true };
    return;
  }
  for (const part of name === "recommend" ? network.recommend : partsAt(name, document)) {
    await pause(signal);
    yield part;
  }
}
