// The course of a run: windows, goodput, queue and round-trip time.

import { contextOf, drawAxes, ticks } from "./axes.js";
import { colour, controlColours } from "./colours.js";
import { short } from "./words.js";

const KEYS = { cwnd: "cwnd", goodput: "goodput_mbps", queue: "queue", rtt: "rtt_ms" };
const MARGIN = 1.06;

/** Largest value after the warm-up, so that slow start does not flatten the rest. */
function highest(series, times, warmup) {
  let found = 0;
  for (const values of Object.values(series)) {
    values.forEach((value, i) => { if (times[i] >= warmup && value > found) found = value; });
  }
  return found > 0 ? found * MARGIN : 1;
}

/** Draw lines over time; `kept` are those of the run to compare with, which are dashed. */
function drawChart(canvas, lines, times, colours, warmup, caption, kept) {
  const { context, width, height } = contextOf(canvas);
  const end = times[times.length - 1];
  const top = Math.max(highest(lines, times, warmup), kept ? highest(kept.lines, kept.times, warmup) : 0);
  const frame = { left: 46, right: width - 14, top: 8, bottom: height - 24 };
  const x = { ticks: ticks(0, end, 5), at: (time) => frame.left + (frame.right - frame.left) * time / end };
  const y = { ticks: ticks(0, top, 4), at: (value) => frame.bottom - (frame.bottom - frame.top) * value / top };
  context.fillStyle = colour("shade");
  context.fillRect(frame.left, frame.top, x.at(warmup) - frame.left, frame.bottom - frame.top);
  drawAxes(context, frame, x, y, true);
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top - 1, frame.right - frame.left, frame.bottom - frame.top + 2);
  context.clip();
  context.lineWidth = 1.6;
  context.lineJoin = "round";
  for (const run of kept ? [{ ...kept, dashes: [4, 4] }, { lines, times, dashes: [] }] : [{ lines, times, dashes: [] }]) {
    context.setLineDash(run.dashes);
    for (const [name, values] of Object.entries(run.lines)) {
      context.strokeStyle = colours[name] ?? colour("muted");
      context.beginPath();
      values.forEach((value, i) => context.lineTo(x.at(run.times[i]), y.at(value)));
      context.stroke();
    }
  }
  context.restore();
  const last = Object.entries(lines).map(([name, values]) => `${name} ${short(values[values.length - 1])}`);
  canvas.setAttribute("aria-label", `${caption}, at the end: ${last.join(", ")}`);
}

/** Draw the four charts and the legend of a run, and the lines of a kept one, unless it is null. */
export function drawRun(run, kept) {
  const series = run.series, classes = controlColours(series.controls);
  const used = Object.keys(classes).length;
  const links = Object.fromEntries(Object.keys(series.queue).map((name, i) => [name, colour(`c${(used + i) % 7}`)]));
  for (const [id, key] of Object.entries(KEYS)) {
    const canvas = document.getElementById(id);
    const timesOf = (one) => (key === "goodput_mbps" ? one.interval : one.time), times = timesOf(series);
    const other = kept ? { lines: kept.series[key], times: timesOf(kept.series) } : null;
    const caption = canvas.previousElementSibling.textContent;
    drawChart(canvas, series[key], times, key === "queue" ? links : classes, run.warmup_s, caption, other);
  }
  const entries = Object.entries({ ...classes, ...links });
  document.getElementById("legend").replaceChildren(...entries.map(([name, hue]) => {
    const item = document.createElement("li"), swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = hue;
    item.append(swatch, name in series.queue ? `queue of ${name}` : name);
    return item;
  }));
}
