// Half width against epsilon, a line for each mechanism, both axes logarithmic. A slider chooses an epsilon, at which
// the note has the half width of every line.

import { el, repeat, set, svg, text } from "../dom.js";
import { percent, plain, short } from "../words.js";
import { MARGIN as DEFAULT_MARGIN, WIDTH, figure, horizontalAxis, slider, table } from "./frame.js";

const MARGIN = { ...DEFAULT_MARGIN, left: 80 }; // widths span several powers of ten: 0.000833%
const HEIGHT = 300;
const BOTTOM = HEIGHT - MARGIN.bottom;
const [LEAST, MOST] = [0.1, 10];
const STEPS = 200;
const epsilonAt = (step) => LEAST * (MOST / LEAST) ** (step / STEPS);

/**
 * Cubic through points with rising x, monotone between each two: its tangents are harmonic means of the slopes on both
 * sides, which keep the conditions of Fritsch and Carlson 1980. Beyond the ends it is constant.
 */
export function monotone(points) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const slopes = xs.slice(1).map((x, i) => (ys[i + 1] - ys[i]) / (x - xs[i]));
  const tangents = xs.map((_, i) => (i === 0 ? slopes[0] : i === xs.length - 1 ? slopes[i - 1]
    : slopes[i - 1] * slopes[i] <= 0 ? 0 : 2 / (1 / slopes[i - 1] + 1 / slopes[i])));
  return (x) => {
    if (x <= xs[0]) return ys[0];
    if (x >= xs.at(-1)) return ys.at(-1);
    const i = xs.findIndex((each) => each > x) - 1;
    const h = xs[i + 1] - xs[i];
    const t = (x - xs[i]) / h;
    return (1 + 2 * t) * (1 - t) ** 2 * ys[i] + t * (1 - t) ** 2 * h * tangents[i] + t * t * (3 - 2 * t) * ys[i + 1] + t * t * (t - 1) * h * tangents[i + 1];
  };
}

/** The chart, and `update`, which draws other lines; the button calls `plan` with the slider's epsilon. */
export function curves(plan) {
  const parts = figure("curves", "Plus or minus, by epsilon", HEIGHT);
  const grid = svg("g", { class: "grid" });
  const lines = svg("g", { class: "lines" });
  const cursor = svg("line", { class: "cursor", y1: MARGIN.top, y2: BOTTOM });
  const labels = svg("g", { class: "labels" });
  parts.drawing.append(grid, lines, cursor, labels);
  const epsilon = slider("Epsilon: more private to the left, more exact to the right", () => read());
  set(epsilon.input, { max: STEPS });
  epsilon.input.value = STEPS / 2;
  parts.controls.append(epsilon.node, el("button", { type: "button", onclick: () => plan(epsilonAt(Number(epsilon.input.value))) }, "Plan with this epsilon"));
  let fits = {}; // by mechanism: the logarithm of the half width as a function of that of epsilon
  let unit = "share";
  const x = (value) => MARGIN.left + (Math.log(value / LEAST) / Math.log(MOST / LEAST)) * (WIDTH - MARGIN.left - MARGIN.right);
  const write = (value) => (unit === "share" ? percent(value, value / 20) : plain(value, value / 20));

  function read() {
    const value = epsilonAt(Number(epsilon.input.value));
    set(cursor, { x1: x(value), x2: x(value) });
    const said = Object.entries(fits).map(([name, fit]) => `${name} ${write(Math.exp(fit(Math.log(value))))}`);
    text(epsilon.words, short(Number(value.toPrecision(3))));
    set(epsilon.input, { "aria-valuetext": `epsilon ${value.toPrecision(3)}` });
    text(parts.note, said.length ? `At epsilon ${value.toPrecision(3)}: plus or minus ${said.join(", ")}.` : "");
  }

  /** `byMechanism` has points [epsilon, half width]; those of fewer than two points are left out. */
  function update(byMechanism, users, unitOfWidths) {
    unit = unitOfWidths;
    const named = Object.entries(byMechanism).filter(([, points]) => points.length > 1);
    fits = Object.fromEntries(named.map(([name, points]) => [name, monotone(points.map(([e, within]) => [Math.log(e), Math.log(within)]))]));
    const widths = named.flatMap(([, points]) => points.map(([, within]) => within));
    const [low, high] = [Math.min(...widths), Math.max(...widths)];
    const y = (value) => BOTTOM - (Math.log(value / low) / (Math.log(high / low) || 1)) * (BOTTOM - MARGIN.top);
    const ticks = widths.length ? [low, Math.sqrt(low * high), high] : [];
    repeat(grid, ticks, () => svg("g", {}, svg("line"), svg("text", { "text-anchor": "end" })), (node, value) => {
      set(node.children[0], { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y(value), y2: y(value) });
      set(node.children[1], { x: MARGIN.left - 6, y: y(value) + 4 });
      text(node.children[1], write(value));
    });
    repeat(lines, named, () => svg("g", {}, svg("polyline", { class: "line" }), svg("text")), (node, [name, points], index) => {
      set(node, { class: `curve curve${index}` });
      set(node.firstChild, { points: points.map(([e, within]) => `${x(e)},${y(within)}`).join(" ") });
      const [e, within] = points[Math.floor(((index + 1) * points.length) / (named.length + 1))]; // each name at another part of its line: names stay apart where lines meet
      set(node.lastChild, { x: x(e) + 6, y: y(within) - 6 });
      text(node.lastChild, name);
    });
    horizontalAxis(labels, [0.1, 0.2, 0.5, 1, 2, 5, 10].map((each) => [x(each), String(each)]), HEIGHT - 8);
    table(parts, ["mechanism", "epsilon", "plus or minus"], named.flatMap(([name, points]) => points.map(([e, within]) => [name, String(Number(e.toPrecision(3))), write(within)])));
    text(parts.caption, `Plus or minus, by epsilon, with ${users.toLocaleString("en")} users`);
    read();
  }
  return { node: parts.node, update };
}
