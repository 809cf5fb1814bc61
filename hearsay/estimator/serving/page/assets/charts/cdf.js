// Cumulative shares with their band, quartiles marked. A click asks for the share up to there, a drag for a range.

import { repeat, set, svg, text } from "../dom.js";
import { ends, interval, percent, quoted, short } from "../words.js";
import { MARGIN, WIDTH, drag, figure, horizontalAxis, rangeSliders, table, ticks, verticalAxis } from "./frame.js";

const HEIGHT = 240;
const BOTTOM = HEIGHT - MARGIN.bottom;
const CLICK = 4; // a drag of fewer units is a click

export function cdf(view, page) {
  const parts = figure("cdf", view.title, HEIGHT);
  const grid = svg("g", { class: "grid" });
  const band = svg("polygon", { class: "band" });
  const line = svg("polyline", { class: "line" });
  const truth = svg("polyline", { class: "truth" });
  const marks = svg("g", { class: "marks" });
  const labels = svg("g", { class: "labels" });
  const selection = svg("rect", { class: "selection", y: MARGIN.top, height: BOTTOM - MARGIN.top, width: 0 });
  parts.drawing.append(grid, band, line, truth, marks, selection, labels);
  let answers = [];

  const right = (index) => MARGIN.left + ((index + 1) / answers.length) * (WIDTH - MARGIN.left - MARGIN.right);
  const end = (x) => Math.min(Math.max(Math.floor(((x - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right)) * answers.length), 0), answers.length - 1);
  const pair = (from, to) => [Math.min(end(from[0]), end(to[0])), Math.max(end(from[0]), end(to[0]))];
  const choose = (first, last) => {
    set(selection, { x: right(first - 1), width: right(last) - right(first - 1) });
    sliders.put(first, last);
    sliders.say(ends(answers[first].item), ends(answers[last].item));
  };
  const ask = () => {
    if (!answers.length) return;
    const [first, last] = sliders.get();
    page.ask(first === last ? `prefix ${quoted(answers[last].item)}` : `range ${quoted(answers[first].item)} ${quoted(answers[last].item)}`);
  };
  const sliders = rangeSliders("Cumulative range", () => answers.length && choose(...sliders.get()), ask);
  parts.controls.append(sliders.node);
  drag(
    parts.drawing,
    (from, to) => answers.length && choose(...pair(from, to)),
    (from, to) => {
      if (!answers.length) return;
      const [first, last] = Math.abs(from[0] - to[0]) < CLICK ? [end(to[0]), end(to[0])] : pair(from, to);
      choose(first, last);
      ask();
    },
    () => set(selection, { width: 0 }),
  );

  function update(document, quartiles) {
    answers = document.answers;
    const y = (value) => BOTTOM - Math.min(Math.max(value, -0.02), 1.02) * (BOTTOM - MARGIN.top);
    const line_of = (write) => answers.map((answer, index) => `${right(index)},${y(write(answer))}`);
    verticalAxis(grid, ticks(0, 1, 4), y, (value, step) => percent(value, 10 * step));
    set(line, { points: [`${MARGIN.left},${y(0)}`, ...line_of((answer) => answer.value)].join(" ") });
    const upper = line_of((answer) => answer.high ?? answer.value);
    const lower = line_of((answer) => answer.low ?? answer.value).reverse();
    set(band, { points: [...upper, ...lower].join(" ") });
    set(truth, { points: (document.truth ?? []).map((value, index) => `${right(index)},${y(value)}`).join(" ") });
    horizontalAxis(labels, positions(answers, right), HEIGHT - 8);
    mark(quartiles?.answers ?? [], y);
    sliders.size(answers.length);
    sliders.say(...sliders.get().map((index) => ends(answers[Math.min(index, answers.length - 1)].item)));
    table(parts, ["up to and including", "share (95% interval)"], answers.map((answer) => [ends(answer.item), interval(answer, "share")]));
    const words = (quartiles?.answers ?? []).map((answer) => `${answer.query.replace("quantile ", "")} at ${interval(answer, "own")}`);
    parts.note.textContent = words.length ? `Quantiles: ${words.join("; ")}.` : "";
  }

  function mark(found, y) {
    const position = (value) => {
      const index = answers.findIndex((answer) => (typeof answer.item === "number" ? answer.item >= value : false));
      return index < 0 ? null : right(index);
    };
    const drawn = found.map((answer) => [position(answer.value), Number(answer.query.split(" ")[1]), answer]).filter(([x]) => x !== null);
    repeat(marks, drawn, () => svg("g", {}, svg("line"), svg("circle", { r: 4 }), svg("title")), (node, [x, rank, answer]) => {
      set(node.children[0], { x1: x, x2: x, y1: y(rank), y2: BOTTOM });
      set(node.children[1], { cx: x, cy: y(rank) });
      text(node.children[2], `${answer.query}: ${interval(answer, "own")}`);
    });
  }
  return { node: parts.node, update, controls: parts.controls };
}

function positions(answers, right) {
  const step = Math.max(1, Math.ceil(answers.length / 8));
  return answers.flatMap((answer, index) => (index % step ? [] : [[right(index), typeof answer.item === "number" ? short(answer.item) : answer.item]]));
}
