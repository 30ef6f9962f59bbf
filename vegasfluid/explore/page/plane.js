// The plane of two parameters: colours of a metric, the line of equal goodputs, and the point.

import { contextOf, drawAxes, ticks } from "./axes.js";
import { METRICS, colour, ramp } from "./colours.js";
import { short } from "./words.js";

const PIXELS = 200; // of the picture of colours along each axis, which is then scaled
const BAR = 12; // width of the colour bar

/** A grid of results, which fills while batches come. */
export class Grid {
  /** `head` is the first part of the answer: x, y, and the places [column, row] of valid points. */
  constructor(head) {
    this.x = head.x;
    this.y = head.y;
    this.total = head.valid.length;
    this.valid = new Set(head.valid.map(([column, row]) => row * head.x.length + column));
    this.points = new Map();
  }

  add(points) {
    for (const point of points) this.points.set(point[1] * this.x.length + point[0], point);
  }

  at(column, row) {
    return this.points.get(row * this.x.length + column);
  }

  /** The result nearest to a place on the plane; undefined where there is none yet. */
  nearest(x, y) {
    const column = nearestIndex(this.x, x), row = nearestIndex(this.y, y);
    return this.valid.has(row * this.x.length + column) ? this.at(column, row) : undefined;
  }

  /** Values of a column of the points for every valid place, from the nearest one that is known. */
  values(column) {
    const width = this.x.length, known = [...this.points.values()].filter((point) => point[column] !== null);
    const values = new Array(width * this.y.length).fill(null);
    for (const place of this.valid) {
      const i = place % width, j = Math.floor(place / width), own = this.points.get(place);
      if (own) {
        values[place] = own[column];
        continue;
      }
      let best = Infinity;
      for (const point of known) {
        const distance = (point[0] - i) ** 2 + (point[1] - j) ** 2;
        if (distance < best) [best, values[place]] = [distance, point[column]];
      }
    }
    return values;
  }
}

function nearestIndex(values, wanted) {
  let best = 0;
  values.forEach((value, i) => {
    if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i;
  });
  return best;
}

/** Ends of a metric's scale, its own or those of the values, and the part of it below a value. */
function scaleOf(metric, values) {
  if (metric.diverging) {
    const end = Math.log(metric.high), root = (part) => Math.sign(part) * Math.sqrt(Math.abs(part));
    const part = (value) => 0.5 + 0.5 * root(Math.min(1, Math.max(-1, Math.log(Math.max(value, 1e-9)) / end)));
    return { low: metric.low, high: metric.high, part };
  }
  const found = values.filter((value) => value !== null && (!metric.log || value > 0));
  let low = metric.low ?? Math.min(...found), high = metric.high ?? Math.max(...found);
  if (!(high > low)) [low, high] = metric.log ? [low / 2 || 1e-9, low * 2 || 1] : [low - 0.5, low + 0.5];
  const turn = metric.log ? (value) => Math.log(Math.max(value, low / 2)) : (value) => value;
  const part = (value) => Math.min(1, Math.max(0, (turn(value) - turn(low)) / (turn(high) - turn(low))));
  return { low, high, part };
}

/** The canvas with the plane; `onMove(x, y)` is called for a new point, `onHover(point)` for a look. */
export class PlaneView {
  constructor(canvas, onMove, onHover) {
    Object.assign(this, { canvas, onMove, onHover, grid: null, point: null, dragging: false, marks: [], path: [], kept: null });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", () => { this.dragging = false; });
    canvas.addEventListener("pointercancel", () => { this.dragging = false; });
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** What is shown: axes {x, y} with name, low, high, whole, title; metric; colours of the classes. */
  show(settings) {
    Object.assign(this, settings);
    this.draw();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect(), { frame, axes } = this;
    const along = (event.clientX - box.left - frame.left) / (frame.right - frame.left);
    const up = (frame.bottom - (event.clientY - box.top)) / (frame.bottom - frame.top);
    const inside = (part) => Math.min(1, Math.max(0, part));
    return [
      axes.x.low + inside(along) * (axes.x.high - axes.x.low),
      axes.y.low + inside(up) * (axes.y.high - axes.y.low),
    ];
  }

  press(event) {
    if (!this.frame || event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.dragging = true;
    this.onMove(...this.place(event));
  }

  drag(event) {
    if (!this.frame) return;
    const place = this.place(event);
    if (this.dragging) this.onMove(...place);
    this.onHover(this.grid ? this.grid.nearest(...place) : null);
  }

  key(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!direction || !this.point) return;
    event.preventDefault();
    const by = event.shiftKey ? 10 : 1, { x, y } = this.axes;
    this.onMove(this.point[0] + by * direction[0] * x.step, this.point[1] + by * direction[1] * y.step);
  }

  draw() {
    if (!this.axes) return;
    const { context, width, height } = contextOf(this.canvas), { x, y } = this.axes;
    const labels = ticks(y.low, y.high, 6).map((value) => context.measureText(short(value, 4)).width);
    const frame = { left: 30 + Math.max(...labels), right: width - 74, top: 10, bottom: height - 46 };
    this.frame = frame;
    this.xAt = (value) => frame.left + (frame.right - frame.left) * (value - x.low) / (x.high - x.low);
    this.yAt = (value) => frame.bottom - (frame.bottom - frame.top) * (value - y.low) / (y.high - y.low);
    context.fillStyle = colour("shade");
    context.fillRect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
    if (this.grid && this.grid.points.size) this.drawColours(context);
    drawAxes(
      context, frame,
      { ticks: ticks(x.low, x.high, width > 500 ? 8 : 4), at: this.xAt },
      { ticks: ticks(y.low, y.high, 6), at: this.yAt }, false,
    );
    this.drawTitles(context);
    if (this.hint) {
      context.textAlign = "right";
      context.fillText(this.hint, frame.right - 14, frame.bottom - 14);
    }
    this.drawPath(context);
    this.drawKept(context);
    this.drawPoint(context);
    this.drawMarks(context);
  }

  inside([x, y]) {
    const { axes } = this;
    return x >= axes.x.low && x <= axes.x.high && y >= axes.y.low && y <= axes.y.high;
  }

  /** The point of the run that is compared with: a hollow circle. */
  drawKept(context) {
    if (!this.kept || !this.inside(this.kept)) return;
    context.strokeStyle = colour("ink");
    context.lineWidth = 1.5;
    context.setLineDash([3, 2]);
    context.beginPath();
    context.arc(this.xAt(this.kept[0]), this.yAt(this.kept[1]), 7, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
  }

  /** Settings that a search has tried, in their order: small dots on the fluid model, large on packets. */
  drawPath(context) {
    const shown = this.path.filter((step) => this.inside(step));
    context.strokeStyle = context.fillStyle = colour("ink");
    context.lineWidth = 1.2;
    context.beginPath();
    for (const [x, y] of shown) context.lineTo(this.xAt(x), this.yAt(y));
    context.stroke();
    for (const [x, y, engine] of shown) {
      context.beginPath();
      context.arc(this.xAt(x), this.yAt(y), engine === "packets" ? 4.5 : 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** Points that packets have confirmed: a diamond with the ratio and its interval. */
  drawMarks(context) {
    for (const { x, y, ratio, interval } of this.marks.filter((one) => this.inside([one.x, one.y]))) {
      const [left, top] = [this.xAt(x), this.yAt(y)];
      context.beginPath();
      [[0, -6], [6, 0], [0, 6], [-6, 0]].forEach(([dx, dy]) => context.lineTo(left + dx, top + dy));
      context.closePath();
      context.fillStyle = colour("c2");
      context.strokeStyle = colour("surface");
      context.lineWidth = 1.5;
      context.fill();
      context.stroke();
      const text = interval ? `${short(ratio)} (${short(interval[0])} to ${short(interval[1])})` : short(ratio);
      const width = context.measureText(text).width + 12, over = left + 12 + width > this.frame.right;
      const at = over ? Math.max(this.frame.left + 4, left - 12 - width) : left + 12, high = Math.max(this.frame.top + 12, top - 14);
      context.fillStyle = colour("surface");
      context.beginPath();
      context.roundRect(at, high - 10, width, 20, 5);
      context.fill();
      context.fillStyle = colour("ink");
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(text, at + 6, high);
    }
  }

  drawTitles(context) {
    const { frame } = this;
    context.fillStyle = colour("muted");
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillText(this.axes.x.title, (frame.left + frame.right) / 2, frame.bottom + 38);
    context.save();
    context.translate(13, (frame.top + frame.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(this.axes.y.title, 0, 0);
    context.restore();
  }

  drawColours(context) {
    const metric = METRICS[this.metric], values = this.grid.values(metric.column);
    const scale = scaleOf(metric, values), paint = ramp(metric, this.others, this.tuned);
    const smooth = this.interpolated(values, scale);
    const image = new ImageData(PIXELS, PIXELS);
    smooth.forEach((part, at) => {
      if (part === null) return;
      const [red, green, blue] = paint(part);
      image.data.set([red, green, blue, 255], 4 * at);
    });
    const buffer = Object.assign(document.createElement("canvas"), { width: PIXELS, height: PIXELS });
    buffer.getContext("2d").putImageData(image, 0, 0);
    const { frame } = this, { x, y } = this.grid, last = (list) => list[list.length - 1];
    const left = this.xAt(x[0]), top = this.yAt(last(y));
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
    context.clip();
    context.drawImage(buffer, left, top, this.xAt(last(x)) - left, this.yAt(y[0]) - top);
    if (metric.diverging) this.drawEqual(context, values);
    context.restore();
    this.drawBar(context, metric, scale, paint);
  }

  /** Parts of the scale on a fine raster, top row first; null where no point is valid. */
  interpolated(values, scale) {
    const width = this.grid.x.length, height = this.grid.y.length, found = new Array(PIXELS * PIXELS).fill(null);
    const parts = values.map((value) => (value === null ? null : scale.part(value)));
    for (let row = 0; row < PIXELS; row += 1) {
      const up = (1 - (row + 0.5) / PIXELS) * (height - 1), j = Math.min(Math.floor(up), height - 2);
      for (let column = 0; column < PIXELS; column += 1) {
        const along = (column + 0.5) / PIXELS * (width - 1), i = Math.min(Math.floor(along), width - 2);
        const corners = [[0, 0], [1, 0], [0, 1], [1, 1]];
        const hidden = corners.filter(([di, dj]) => !this.grid.valid.has((j + dj) * width + i + di));
        // of a cell with one invalid corner the half on the other side is shown
        const cut = hidden.some(([di, dj]) => Math.abs(along - i - di) + Math.abs(up - j - dj) < 1);
        if (hidden.length > 1 || cut) continue;
        let sum = 0, weights = 0;
        for (const [di, dj] of corners) {
          const part = parts[(j + dj) * width + i + di];
          if (part === null || part === undefined) continue;
          const weight = (1 - Math.abs(along - i - di)) * (1 - Math.abs(up - j - dj)) + 1e-9;
          sum += weight * part;
          weights += weight;
        }
        if (weights) found[row * PIXELS + column] = sum / weights;
      }
    }
    return found;
  }

  /** The line on which both kinds of flows have the same goodput: ratio 1. */
  drawEqual(context, values) {
    const { x, y } = this.grid, width = x.length, logs = values.map((value) => (value > 0 ? Math.log(value) : null));
    context.strokeStyle = colour("ink");
    context.lineWidth = 1.8;
    context.beginPath();
    for (let j = 0; j < y.length - 1; j += 1) {
      for (let i = 0; i < width - 1; i += 1) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
        const known = corners.filter(([a, b]) => logs[b * width + a] !== null);
        if (known.length < 3) continue;
        const cuts = [];
        known.forEach(([a, b], k) => {
          const [c, d] = known[(k + 1) % known.length], from = logs[b * width + a], to = logs[d * width + c];
          if ((from < 0) === (to < 0)) return;
          const part = from / (from - to);
          cuts.push([this.xAt(x[a] + part * (x[c] - x[a])), this.yAt(y[b] + part * (y[d] - y[b]))]);
        });
        if (cuts.length >= 2) {
          context.moveTo(...cuts[0]);
          context.lineTo(...cuts[1]);
        }
      }
    }
    context.stroke();
  }

  drawBar(context, metric, scale, paint) {
    const { frame } = this, left = frame.right + 14, height = frame.bottom - frame.top;
    for (let row = 0; row < height; row += 1) {
      context.fillStyle = `rgb(${paint(1 - row / height).map(Math.round).join(",")})`;
      context.fillRect(left, frame.top + row, BAR, 1.5);
    }
    context.fillStyle = colour("muted");
    context.textAlign = "left";
    context.textBaseline = "middle";
    const marks = metric.diverging ? [1 / 16, 1 / 4, 1, 4, 16] : [0, 0.25, 0.5, 0.75, 1].map((part) => (
      metric.log ? scale.low * (scale.high / scale.low) ** part : scale.low + part * (scale.high - scale.low)));
    marks.forEach((value, at) => {
      const text = metric.diverging ? ["1/16", "1/4", "1", "4", "16"][at] : short(value * (metric.scale ?? 1));
      context.fillText(text, left + BAR + 6, frame.bottom - height * scale.part(value));
    });
  }

  drawPoint(context) {
    if (!this.point) return;
    const [x, y] = [this.xAt(this.point[0]), this.yAt(this.point[1])], { frame } = this;
    context.strokeStyle = colour("ink");
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.beginPath();
    context.moveTo(x, frame.bottom);
    context.lineTo(x, y);
    context.lineTo(frame.left, y);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.fillStyle = colour("surface");
    context.fill();
    context.lineWidth = 2.5;
    context.stroke();
  }
}
