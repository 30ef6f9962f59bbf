// Canvases in the pixels of the screen, and axes on them.

import { colour } from "./colours.js";
import { short } from "./words.js";

/** A canvas's context with CSS pixels as its unit, and its width and height in them; cleared. */
export function contextOf(canvas) {
  const box = canvas.getBoundingClientRect(), dense = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(box.width * dense)), height = Math.max(1, Math.round(box.height * dense));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.setTransform(dense, 0, 0, dense, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  context.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  return { context, width: box.width, height: box.height };
}

/** Round numbers from low to high, about as many as asked for. */
export function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((found) => found >= rough * 0.999);
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + 1e-9 * step; number += 1) {
    found.push(number * step);
  }
  return found;
}

/** Draw tick labels and, if asked for, grid lines of a frame {left, right, top, bottom}. */
export function drawAxes(context, frame, x, y, grid) {
  context.strokeStyle = colour("line");
  context.fillStyle = colour("muted");
  context.lineWidth = 1;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const value of x.ticks) {
    context.fillText(short(value, 4), x.at(value), frame.bottom + 6);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of y.ticks) {
    context.fillText(short(value, 4), frame.left - 7, y.at(value));
    if (!grid) continue;
    context.beginPath();
    context.moveTo(frame.left, Math.round(y.at(value)) + 0.5);
    context.lineTo(frame.right, Math.round(y.at(value)) + 0.5);
    context.stroke();
  }
}
