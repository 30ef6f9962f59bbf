// The result of a run in words and numbers.

import { milliseconds, percent, short } from "./words.js";

const page = (id) => document.getElementById(id);

function cells(tag, texts) {
  return texts.map((text) => Object.assign(document.createElement(tag), { textContent: text }));
}

/** Show why there is no result, and mark the old one as out of date. */
export function showFailure(errors) {
  const texts = errors.map((error) => error.message).filter(Boolean);
  Object.assign(page("failure"), { textContent: texts.join(" "), hidden: texts.length === 0 });
  page("outcome").classList.add("stale");
  page("outcome").removeAttribute("aria-busy");
}

/** The result that is shown is that of other numbers: one of the numbers in the form will follow. */
export function markAsOld() {
  page("outcome").ariaBusy = "true";
}

function precisionOf({ saved, accurate }) {
  if (saved) return "Saved run of the fluid model.";
  return accurate ? "Fluid model, accurate to 1 %, as vegasfluid simulate." : "Fluid model, quick run …";
}

/** Show ratio, averages and warnings of a run. */
export function showResult(run) {
  page("failure").hidden = true;
  const outcome = page("outcome");
  outcome.classList.remove("stale");
  outcome.removeAttribute("aria-busy");
  Object.assign(outcome.dataset, { ratio: run.ratio, accurate: run.accurate });
  page("ratio").textContent = run.ratio === null ? "–" : short(run.ratio);
  page("ratio-name").textContent = run.tuned === null ? "one class: no ratio" : `goodput of a ${run.tuned} flow / another flow`;
  page("meaning").textContent = run.meaning;
  page("precision").textContent = precisionOf(run);
  const figures = [
    ["Queueing delay", milliseconds(run.path.queueing_delay_s)], ["Drops", percent(run.path.drop_share)],
    ["Utilisation", percent(run.path.utilisation)], ["Jain's index", short(run.jain_index)],
  ];
  page("figures").replaceChildren(...figures.map(([name, value]) => {
    const pair = document.createElement("div");
    pair.append(...cells("dt", [name]), ...cells("dd", [value]));
    return pair;
  }));
  page("classes").tBodies[0].replaceChildren(...Object.entries(run.classes).map(([name, flows]) => {
    const row = document.createElement("tr");
    row.append(...cells("td", [name, short(flows.goodput_mbps), short(flows.cwnd_packets), short(1e3 * flows.rtt_s)]));
    return row;
  }));
  const notes = (page("warnings").dataset.notes ?? "").split("\n").filter(Boolean);
  page("warnings").replaceChildren(...cells("li", [...notes, ...run.warnings]));
}
