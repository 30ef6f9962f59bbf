// The page: what is shown, and which requests follow from what its user does.

import { ask, parts } from "./api.js";
import { drawRun } from "./charts.js";
import { METRICS, controlColours } from "./colours.js";
import { NetworkForm, valueAt, withValue } from "./form.js";
import { Jobs, intervalText } from "./jobs.js";
import { Grid, PlaneView } from "./plane.js";
import { markAsOld, showFailure, showResult } from "./result.js";
import { readLink, writeLink } from "./link.js";
import { Runs } from "./runs.js";
import { axis, firstAxes, isPair, numberOf, planeKey, snapped, state, valueOf } from "./state.js";
import { milliseconds, nameInWords, percent, short } from "./words.js";

const COUNT = 17; // values along each axis of the plane
const FEW = 9; // the same where other values may need other compiled programs
const TYPING_PAUSE = 250; // after the last key in a field before it is read, ms
const MOST_MARKS = 40; // points that packets have confirmed
const KEPT = 6; // planes that are kept

const page = (id) => document.getElementById(id);
const planes = new Map();
const runs = new Runs(take);
let form, view, planeRequest, textEdited = false; // whether the text has changes that are not applied

function move(x, y) {
  x = snapped(state.x, x);
  y = snapped(state.y, y);
  if (isPair() && y < x) { // the one that was moved takes the other along
    if (x !== view.point?.[0]) y = x;
    else x = y;
  }
  if (view.point && view.point[0] === x && view.point[1] === y) return;
  view.point = [x, y];
  view.draw();
  runs.request({ [state.x.name]: x, [state.y.name]: y });
}

function take(found, asked) {
  if (found.overtaken || asked !== state.model) return;
  if (found.errors) {
    showFailure(state.draft ? found.errors : form.showErrors(found.errors).map((message) => ({ path: "", message })));
    return;
  }
  if (!runs.waiting) {
    if (JSON.stringify(found.document) !== JSON.stringify(state.model)) {
      state.model = found.document;
      view.show({ point: [valueOf(state.x.name), valueOf(state.y.name)] });
    }
    if (state.draft) keepDraft();
    else form.show(state.model);
    state.text = found.text;
    if (!textEdited) page("text").value = found.text;
    writeLink(state);
  }
  state.run = found;
  showResult(found);
  drawRun(found, kept?.run ?? null);
  describeKept();
  describePoint();
}

/** The form keeps what is not valid in it, with the values of the point. */
function keepDraft() {
  const edited = [state.x, state.y].reduce((model, { name }) => withValue(model, numberOf(name).path, valueOf(name)), form.document);
  form.show(edited);
}

function pointInWords() {
  return [state.x, state.y].map(({ name }, i) => `${nameInWords(name)} ${short(view.point[i], 4)}`).join(", ");
}

/** What packets have found at the point, and its name for screen readers. */
function describePoint() {
  const key = planeKey(), [x, y] = view.point;
  const found = marks.findLast((one) => one.key === key && one.x === x && one.y === y);
  page("confirmed").textContent = found ? `Packet simulator: ${intervalText(found)}` : "";
  view.canvas.setAttribute("aria-label", `Plane. ${pointInWords()}: ratio ${short(state.run.ratio)}`);
}

// The plane

async function requestPlane() {
  const key = planeKey();
  if (state.planeKey === key) return;
  state.planeKey = key;
  planeRequest?.abort();
  if (planes.has(key)) {
    view.show({ grid: planes.get(key) });
    return;
  }
  const own = planeRequest = new AbortController(), count = [state.x, state.y].every(({ name }) => numberOf(name).law) ? COUNT : FEW;
  const ends = ({ name, low, high }) => ({ name, low, high, count });
  view.canvas.setAttribute("aria-busy", "true");
  try {
    const body = { document: state.model, x: ends(state.x), y: ends(state.y), tuned: state.tuned };
    let grid = null;
    for await (const part of parts("plane", body, own.signal)) {
      if (own.signal.aborted || part.overtaken) return;
      if (part.errors) throw new Error(part.errors[0].message);
      if (part.x) grid = new Grid(part);
      if (part.points) grid.add(part.points);
      if (part.done) keep(key, grid);
      view.show({ grid });
      const left = grid.total - grid.points.size;
      page("readout").textContent = left ? `Computing the plane: ${grid.points.size} of ${grid.total} runs …` : "";
    }
    view.canvas.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name === "AbortError") return;
    view.canvas.removeAttribute("aria-busy");
    view.show({ grid: null });
    page("readout").textContent = error.message;
  }
}

function keep(key, grid) {
  planes.set(key, grid);
  if (planes.size > KEPT) planes.delete(planes.keys().next().value);
}

function hover(point) {
  if (!point) {
    page("readout").textContent = "";
    return;
  }
  const [column, row, ratio, jain, delay, drops] = point, { x, y } = view.grid;
  page("readout").textContent = `At ${short(x[column], 4)}, ${short(y[row], 4)}: ratio ${short(ratio)}, Jain ${short(jain)}, `
    + `delay ${milliseconds(delay)}, drops ${percent(drops)}`;
}

// Models, fields and choices

function options(select, names, chosen, text = (name) => name) {
  select.replaceChildren(...names.map((name) => new Option(text(name), name, false, name === chosen)));
}

function showChoices() {
  const names = state.numbers.map((number) => number.name);
  options(page("x-name"), names, state.x.name, nameInWords);
  options(page("y-name"), names, state.y.name, nameInWords);
  options(page("metric"), Object.keys(METRICS), state.metric, (name) => METRICS[name].words);
  const classes = Object.keys(state.model.flows);
  page("tuned-label").hidden = classes.length < 2;
  options(page("tuned"), classes, state.tuned);
  for (const which of ["x", "y"]) {
    page(`${which}-low`).value = short(state[which].low, 6);
    page(`${which}-high`).value = short(state[which].high, 6);
  }
}

function showPlane() {
  const laws = Object.fromEntries(Object.entries(state.model.flows).map(([name, flows]) => [name, flows.law.name]));
  const colours = controlColours(laws), other = Object.keys(laws).find((name) => name !== state.tuned);
  view.point = [valueOf(state.x.name), valueOf(state.y.name)];
  view.show({
    axes: { x: state.x, y: state.y }, metric: state.metric, hint: isPair() ? "beta below alpha" : "",
    tuned: colours[state.tuned] ?? colours[Object.keys(laws)[0]], others: colours[other] ?? colours[state.tuned],
  });
  showMarks();
  requestPlane();
}

/** Show a model that was read: keep the axes and the class where it has them, too. */
function open(found, wanted = {}) {
  Object.assign(state, { model: found.document, text: found.text, numbers: found.numbers, draft: false });
  const classes = Object.keys(state.model.flows);
  const [x, y] = firstAxes(), vegas = classes.find((name) => state.model.flows[name].law.name === "vegas");
  for (const [which, first] of [["x", x], ["y", y]]) {
    const asked = wanted[which] ?? (wanted.keep ? state[which] : null);
    const known = asked && numberOf(asked.name) && asked.low < asked.high;
    state[which] = known ? axis(asked.name, [asked.low, asked.high]) : first;
  }
  if (state.x.name === state.y.name) [state.x, state.y] = [x, y];
  const tuned = wanted.tuned ?? (wanted.keep ? state.tuned : found.tuned);
  state.tuned = classes.includes(tuned) ? tuned : vegas ?? classes[0];
  state.metric = METRICS[wanted.metric] ? wanted.metric : state.metric;
  if (!wanted.keep) {
    view.path = [];
    if (kept) compare();
  }
  page("title").textContent = state.model.title ?? "A model without a title";
  page("text").value = found.text;
  textEdited = false;
  page("warnings").dataset.notes = (found.notes ?? []).join("\n");
  form.show(state.model);
  showErrors([]);
  showChoices();
  showPlane();
  runs.request();
}

function showErrors(errors) {
  const rest = form.showErrors(errors), list = page("form-errors");
  list.hidden = rest.length === 0;
  list.replaceChildren(...rest.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  page("outcome").classList.toggle("stale", errors.length > 0);
  page("outcome").removeAttribute("aria-busy");
}

let typing, reading = 0;

/** Read a model from the form or the text; where it is valid, show it, otherwise its errors. */
async function read(body, wanted) {
  const number = reading += 1;
  try {
    const found = await ask("read", body);
    if (number !== reading) return;
    if (found.errors) showErrors(found.errors);
    else open(found, wanted);
  } catch (error) {
    showFailure([{ path: "", message: error.message }]);
  }
}

function edited(model) {
  form.document = model;
  state.draft = true;
  markAsOld();
  clearTimeout(typing);
  typing = setTimeout(() => read({ document: model }, { keep: true }), TYPING_PAUSE);
}

function changeAxis(which, name) {
  const other = which === "x" ? "y" : "x";
  if (state[other].name === name) state[other] = axis(state[which].name);
  state[which] = axis(name);
  view.kept = null;
  showChoices();
  showPlane();
  writeLink(state);
}

function changeRange(which) {
  const [low, high] = ["low", "high"].map((end) => Number(page(`${which}-${end}`).value));
  const valid = Number.isFinite(low) && Number.isFinite(high) && low < high;
  for (const end of ["low", "high"]) page(`${which}-${end}`).setAttribute("aria-invalid", String(!valid));
  if (!valid) return;
  state[which] = axis(state[which].name, [low, high]);
  showPlane();
  writeLink(state);
}

async function copy(text, what, where = "said") {
  await navigator.clipboard.writeText(text);
  page(where).textContent = `${what} copied.`;
}

// A run that is kept, to compare others with

let kept = null;

/** Keep the present run, or forget the one that is kept. */
function compare() {
  kept = kept ? null : { run: state.run, point: [...view.point], at: pointInWords() };
  page("keep").setAttribute("aria-pressed", String(kept !== null));
  view.show({ kept: kept?.point ?? null });
  drawRun(state.run, kept?.run ?? null);
  describeKept();
}

function describeKept() {
  page("kept").hidden = kept === null;
  if (!kept) return;
  const { ratio, path: numbers } = kept.run;
  page("kept").textContent = `Compared with ${kept.at} (dashed): ratio ${short(ratio)}, delay ${milliseconds(numbers.queueing_delay_s)}, drops ${percent(numbers.drop_share)}.`;
}

// Packet runs and recommendations on the plane

const marks = [];

/** The model and the point as they are now, for a job that takes a while. */
function now() {
  const classes = Object.keys(state.model.flows), isVegas = (name) => state.model.flows[name].law.name === "vegas";
  const vegas = isVegas(state.tuned) ? state.tuned : classes.find(isVegas) ?? state.tuned;
  return { model: state.model, text: state.text, tuned: state.tuned, vegas, point: { x: view.point[0], y: view.point[1], key: planeKey() } };
}

/** Show a point that packets have confirmed, as long as its plane is shown. */
function mark(point) {
  marks.push(point);
  if (marks.length > MOST_MARKS) marks.shift();
  showMarks();
}

function showMarks() {
  if (state.run) describePoint();
  const key = planeKey();
  view.show({ marks: marks.filter((point) => point.key === key) });
}

/** Draw the settings that a search has tried, where the plane is that of alpha and beta. */
function path(name, steps) {
  const shown = state.x.name === `${name}.alpha_packets` && state.y.name === `${name}.beta_packets`;
  view.show({ path: shown ? steps.map((step) => [step.alpha, step.beta, step.engine]) : [] });
}

/** Go to a recommended setting, and mark it. */
function use({ tuned, alpha, beta, ratio, interval }) {
  const set = { [`${tuned}.alpha_packets`]: alpha, [`${tuned}.beta_packets`]: beta };
  const model = Object.entries(set).reduce((table, [name, value]) => withValue(table, numberOf(name).path, value), state.model);
  state.model = model;
  for (const which of ["x", "y"]) {
    const wanted = set[state[which].name];
    if (wanted > state[which].high) state[which] = axis(state[which].name, [state[which].low, Number((1.2 * wanted).toPrecision(2))]);
  }
  showChoices();
  showPlane();
  mark({ x: view.point[0], y: view.point[1], key: planeKey(), ratio, interval });
  runs.request();
}

/** A command that writes this model to a file and simulates it. */
function command() {
  return `cat > network.toml <<'END'\n${state.text}END\nvegasfluid simulate network.toml\n`;
}

function listen() {
  for (const which of ["x", "y"]) {
    page(`${which}-name`).addEventListener("change", (event) => changeAxis(which, event.target.value));
    for (const end of ["low", "high"]) page(`${which}-${end}`).addEventListener("change", () => changeRange(which));
  }
  page("metric").addEventListener("change", (event) => {
    state.metric = event.target.value;
    showPlane();
    writeLink(state);
  });
  page("tuned").addEventListener("change", (event) => {
    state.tuned = event.target.value;
    showPlane();
    runs.request();
  });
  page("models").addEventListener("change", (event) => read({ model: event.target.value }));
  page("keep").addEventListener("click", () => state.run && compare());
  page("text").addEventListener("input", () => { textEdited = true; });
  page("apply").addEventListener("click", () => read({ text: page("text").value }, { keep: true }));
  page("copy-text").addEventListener("click", () => copy(page("text").value, "Model file"));
  page("copy-link").addEventListener("click", () => copy(location.href, "Link"));
  page("copy-command").addEventListener("click", () => copy(command(), "Command"));
  const redraw = () => {
    view.draw();
    if (state.run) drawRun(state.run, kept?.run ?? null);
  };
  new ResizeObserver(redraw).observe(page("plane"));
  addEventListener("themechange", () => {
    form.shape = null;
    form.show(state.model);
    showPlane();
    redraw();
  });
}

async function start() {
  const found = await ask("start", {});
  page("version").textContent = `vegasfluid ${found.version}`;
  const names = Object.keys(found.schema.models), own = names.includes(found.name) ? [] : [new Option(found.name, "", true, true)];
  page("models").replaceChildren(...own, ...names.map((name) => new Option(name, name, false, name === found.name)));
  page("models").firstElementChild.disabled = own.length > 0;
  page("open").hidden = names.length < 2 && own.length === 0;
  form = new NetworkForm(page("form"), found.schema, edited);
  view = new PlaneView(page("plane"), move, hover);
  new Jobs({ now, mark, path, use, copy }, found.formats);
  listen();
  const link = await readLink(), linked = link ? await ask("read", { document: link.model }) : null;
  if (linked && !linked.errors) open(linked, link);
  else open(found);
}

start().catch((error) => showFailure([{ path: "", message: error.message }]));
