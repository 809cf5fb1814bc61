// One answer over the windows, each value with its 95% interval. Windows that are withheld, or have no value, are gaps.

import { repeat, set, svg, text } from "../dom.js";
import { interval, percent, plain } from "../words.js";
import { MARGIN, WIDTH, figure, horizontalAxis, table, ticks, verticalAxis } from "./frame.js";

const HEIGHT = 220;
const BOTTOM = HEIGHT - MARGIN.bottom;

export function series(title) {
  const parts = figure("series", title, HEIGHT);
  const grid = svg("g", { class: "grid" });
  const bands = svg("g", { class: "bands wide" });
  const line = svg("path", { class: "line" });
  const points = svg("g", { class: "points" });
  const labels = svg("g", { class: "labels" });
  parts.drawing.append(grid, bands, line, points, labels);

  /** `rows` as the server gives them, one per window; rows that are withheld have no unit. Only a row's first answer is drawn. */
  function update(question, rows) {
    const unit = rows.find((row) => row.unit)?.unit ?? "share";
    text(parts.caption, `${question}, window by window`);
    const x = (index) => MARGIN.left + ((index + 0.5) / rows.length) * (WIDTH - MARGIN.left - MARGIN.right);
    const known = rows.map((row, index) => ({ row, index, answer: row.answers[0] })).filter(({ answer }) => answer && answer.value !== null);
    const share = unit === "share";
    const highest = Math.max(...known.map(({ answer }) => answer.high ?? answer.value), share ? 1e-9 : -Infinity);
    const lowest = Math.min(...known.map(({ answer }) => answer.low ?? answer.value), share ? 0 : Infinity);
    const [low, high] = known.length ? [share ? Math.min(0, lowest) : lowest, highest] : [0, 1];
    const y = (value) => BOTTOM - ((value - low) / (high - low || 1)) * (BOTTOM - MARGIN.top);
    // The second argument of percent and plain sets the number of decimals: with ten steps, marks one step apart differ.
    verticalAxis(grid, ticks(low, high, 4), y, (value, step) => (share ? percent(value, 10 * step) : plain(value, 10 * step)));
    repeat(bands, known, () => svg("line"), (node, { answer, index }) =>
      set(node, { x1: x(index), x2: x(index), y1: y(answer.low ?? answer.value), y2: y(answer.high ?? answer.value) }));
    repeat(points, known, () => svg("circle", { r: 3.5 }, svg("title")), (node, { answer, index, row }) => {
      set(node, { cx: x(index), cy: y(answer.value), class: row.status === "final" ? null : "open" });
      text(node.firstChild, `${row.window}: ${interval(answer, unit)}`);
    });
    set(line, { d: known.map(({ answer, index }, place) => `${place && known[place - 1].index === index - 1 ? "L" : "M"}${x(index)},${y(answer.value)}`).join("") });
    const step = Math.max(1, Math.ceil(rows.length / 5));
    const brief = rows.some((row) => row.start && Date.parse(row.end) - Date.parse(row.start) < 60_000);
    horizontalAxis(labels, rows.flatMap((row, index) => (index % step ? [] : [[x(index), when(row, brief)]])), HEIGHT - 8);
    table(parts, ["window", "status", "reports", "answer (95% interval)"], rows.map((row) =>
      [row.window, row.status, String(row.reports), row.answers[0] ? interval(row.answers[0], unit) : row.error ?? "withheld"]));
  }
  return { node: parts.node, update };
}

/** When a window began; the time with seconds, without the date, where windows are shorter than a minute. */
function when(row, brief) {
  return row.start ? row.start.slice(...(brief ? [11, 19] : [5, 16])).replace("T", " ") : row.window;
}
