// Shares of stretches with their intervals. A drag, or two sliders, asks for a range.

import { repeat, set, svg, text } from "../dom.js";
import { ends, interval, noisy, percent, quoted, short } from "../words.js";
import { MARGIN, WIDTH, drag, figure, horizontalAxis, rangeSliders, table, ticks, verticalAxis } from "./frame.js";

const HEIGHT = 300;
const BOTTOM = HEIGHT - MARGIN.bottom;

export function histogram(view, page) {
  const parts = figure("histogram", view.title, HEIGHT);
  const grid = svg("g", { class: "grid" });
  const bars = svg("g", { class: "bars" });
  const bands = svg("g", { class: "bands" });
  const truth = svg("polyline", { class: "truth" });
  const labels = svg("g", { class: "labels" });
  const selection = svg("rect", { class: "selection", y: MARGIN.top, height: BOTTOM - MARGIN.top, width: 0 });
  parts.drawing.append(grid, bars, bands, truth, selection, labels);
  let answers = [];

  const left = (index) => MARGIN.left + (index / answers.length) * (WIDTH - MARGIN.left - MARGIN.right);
  const bin = (x) => Math.min(Math.max(Math.floor(((x - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right)) * answers.length), 0), answers.length - 1);
  const pair = (first, last) => [Math.min(first, last), Math.max(first, last)];
  const choose = (first, last) => {
    set(selection, { x: left(first), width: Math.max(left(last + 1) - left(first), 0) });
    sliders.put(first, last);
    sliders.say(ends(answers[first].item[0]), ends(answers[last].item[1]));
  };
  const ask = () => {
    if (!answers.length) return;
    const [first, last] = sliders.get();
    page.ask(`range ${quoted(answers[first].item[0])} ${quoted(answers[last].item[1])}`);
  };
  const sliders = rangeSliders("Range", () => answers.length && choose(...sliders.get()), ask);
  parts.controls.append(sliders.node);
  drag(
    parts.drawing,
    (from, to) => answers.length && choose(...pair(bin(from[0]), bin(to[0]))),
    (from, to) => { if (answers.length) { choose(...pair(bin(from[0]), bin(to[0]))); ask(); } },
    () => set(selection, { width: 0 }),
  );

  function update(document) {
    answers = document.answers;
    const top = Math.max(...answers.map((answer) => Math.max(answer.high ?? answer.value, answer.value)), 1e-9);
    const y = (value) => BOTTOM - (Math.min(Math.max(value, 0), top) / top) * (BOTTOM - MARGIN.top);
    verticalAxis(grid, ticks(0, top, 5), y, (value, step) => percent(value, 10 * step));
    const gap = answers.length > 128 ? 0 : 1;
    repeat(bars, answers, () => svg("rect"), (bar, answer, index) => {
      const height = BOTTOM - y(answer.value);
      set(bar, { x: left(index) + gap / 2, width: Math.max(left(index + 1) - left(index) - gap, 0.5), y: y(answer.value), height, class: answer.low > 0 ? null : "pale" });
    });
    repeat(bands, answers, () => svg("line"), (band, answer, index) => {
      const x = (left(index) + left(index + 1)) / 2;
      set(band, { x1: x, x2: x, y1: y(answer.low ?? answer.value), y2: y(answer.high ?? answer.value) });
    });
    set(truth, { points: (document.truth ?? []).map((value, index) => `${left(index)},${y(value)} ${left(index + 1)},${y(value)}`).join(" ") });
    horizontalAxis(labels, axisWords(answers, left), HEIGHT - 8);
    sliders.size(answers.length);
    const [first, last] = sliders.get();
    sliders.say(ends(answers[Math.min(first, answers.length - 1)].item[0]), ends(answers[Math.min(last, answers.length - 1)].item[1]));
    text(parts.note, noisy(answers) ?? "Each bar is a share of the reports; the line over it is its 95% interval. Bars that cannot be told from 0 are paler.");
    table(parts, ["from, to", "share (95% interval)"], answers.map((answer) => [ends(answer.item), interval(answer, "share")]));
  }
  return { node: parts.node, update, controls: parts.controls };
}

/** About eight words below the bars: where stretches begin. */
export function axisWords(answers, left) {
  const step = Math.max(1, Math.ceil(answers.length / 8));
  return answers.flatMap((answer, index) => (index % step ? [] : [[left(index), word(answer.item[0])]]));
}

function word(end) {
  return typeof end === "number" ? short(end) : end;
}
