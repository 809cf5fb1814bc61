// A grid of squares. Squares that cannot be told from nothing are paler; a drawn rectangle asks for its share.

import { repeat, set, svg, text } from "../dom.js";
import { ends, interval, name, noisy, quoted, short } from "../words.js";
import { MARGIN, WIDTH, drag, figure, horizontalAxis, rangeSliders, table } from "./frame.js";

const HEIGHT = 520;
const BOTTOM = HEIGHT - MARGIN.bottom;

export function map(view, page) {
  const parts = figure("map", view.title, HEIGHT);
  const squares = svg("g", { class: "squares" });
  const across = svg("g", { class: "labels" });
  const up = svg("g", { class: "labels" });
  const selection = svg("rect", { class: "selection", width: 0, height: 0 });
  parts.drawing.append(squares, selection, across, up);
  let answers = [];
  let names = [];
  let shape = [1, 1];

  const x = (column) => MARGIN.left + (column / shape[0]) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (row) => BOTTOM - (row / shape[1]) * (BOTTOM - MARGIN.top);
  const inside = (value, most) => Math.min(Math.max(Math.floor(value), 0), most - 1);
  const square = ([px, py]) => [
    inside(((px - MARGIN.left) / (WIDTH - MARGIN.left - MARGIN.right)) * shape[0], shape[0]),
    inside(((BOTTOM - py) / (BOTTOM - MARGIN.top)) * shape[1], shape[1]),
  ];
  const stretch = (axis, index) => answers[axis === 0 ? index * shape[1] : index].cell[names[axis]];
  const choose = (low, high) => {
    set(selection, { x: x(low[0]), width: x(high[0] + 1) - x(low[0]), y: y(high[1] + 1), height: y(low[1]) - y(high[1] + 1) });
    [0, 1].forEach((axis) => {
      sliders[axis].put(low[axis], high[axis]);
      sliders[axis].say(ends(stretch(axis, low[axis])[0]), ends(stretch(axis, high[axis])[1]));
    });
  };
  const chosen = () => {
    const both = sliders.map((each) => each.get());
    return [both.map(([low]) => low), both.map(([, high]) => high)];
  };
  const ask = () => {
    if (!answers.length) return;
    const [low, high] = chosen();
    const words = [0, 1].map((axis) => quoted(`${stretch(axis, low[axis])[0]}:${stretch(axis, high[axis])[1]}`));
    page.ask(`range ${words.join(" ")}`);
  };
  const changed = () => answers.length && choose(...chosen());
  const sliders = [rangeSliders("Across", changed, null), rangeSliders("Up", changed, ask)];
  parts.controls.append(...sliders.map((each) => each.node));
  const corners = (from, to) => {
    const [a, b] = [square(from), square(to)];
    return [[Math.min(a[0], b[0]), Math.min(a[1], b[1])], [Math.max(a[0], b[0]), Math.max(a[1], b[1])]];
  };
  drag(
    parts.drawing,
    (from, to) => answers.length && choose(...corners(from, to)),
    (from, to) => { if (answers.length) { choose(...corners(from, to)); ask(); } },
    () => set(selection, { width: 0 }),
  );

  function update(document) {
    answers = document.answers;
    names = Object.keys(answers[0].cell);
    const columns = new Set(answers.map((answer) => String(answer.cell[names[0]]))).size;
    shape = [columns, answers.length / columns];
    const most = Math.max(...answers.map((answer) => answer.value), 1e-9);
    repeat(squares, answers, () => svg("rect", {}, svg("title")), (node, answer, index) => {
      const [column, row] = [Math.floor(index / shape[1]), index % shape[1]];
      const known = answer.low > 0;
      set(node, {
        x: x(column), y: y(row + 1), width: x(column + 1) - x(column), height: y(row) - y(row + 1),
        "fill-opacity": known ? 0.15 + 0.85 * Math.max(answer.value, 0) / most : 0.06,
        class: known ? null : "pale",
      });
      text(node.firstChild, `${name(answer)}: ${interval(answer, "share")}`);
    });
    labels();
    sliders.forEach((each, axis) => each.size(shape[axis]));
    table(parts, ["square", "share (95% interval)"], answers.map((answer) => [name(answer), interval(answer, "share")]));
    text(parts.note, `Across: ${names[0]}. Up: ${names[1]}. ${noisy(answers, 2) ?? "The stronger the colour, the larger the share; squares that cannot be told from 0 are pale."}`);
  }

  function labels() {
    const step = (count) => Math.max(1, Math.ceil(count / 8));
    const marks = (axis, count, place) => Array.from({ length: Math.ceil(count / step(count)) }, (_, each) => each * step(count))
      .map((index) => [place(index), word(stretch(axis, index)[0])]);
    horizontalAxis(across, marks(0, shape[0], x), HEIGHT - 8);
    repeat(up, marks(1, shape[1], y), () => svg("text", { "text-anchor": "end" }), (node, [position, words]) => {
      set(node, { x: MARGIN.left - 6, y: position });
      text(node, words);
    });
  }
  return { node: parts.node, update, controls: parts.controls };
}

function word(end) {
  return typeof end === "number" ? short(end) : end;
}
