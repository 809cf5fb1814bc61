// What charts share: the drawing's size, axes, and dragging along one or two axes.

import { el, repeat, set, svg, text } from "../dom.js";

export const WIDTH = 760;
export const MARGIN = { left: 56, right: 12, top: 10, bottom: 30 };

/** A figure with a caption, a drawing, room for sliders, and its numbers as a table. */
export function figure(kind, title, height) {
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": title });
  const caption = el("figcaption", {}, title);
  const note = el("p", { class: "note" });
  const controls = el("div", { class: "controls" });
  const body = el("tbody");
  const head = el("thead", {}, el("tr"));
  const numbers = el("details", {}, el("summary", {}, "The numbers"), el("div", { class: "scroll" }, el("table", {}, head, body)));
  const node = el("figure", { "data-chart": kind }, caption, drawing, note, controls, numbers);
  return { node, caption, drawing, note, controls, head: head.firstChild, body, numbers };
}

/** Write rows of texts into the figure's table; only while it is open, a thousand rows cost nobody anything closed. */
export function table(parts, columns, rows) {
  const write = () => {
    repeat(parts.head, columns, () => el("th", { scope: "col" }), (cell, words) => text(cell, words));
    repeat(parts.body, rows, () => el("tr"), (row, cells) =>
      repeat(row, cells, (_, index) => el(index ? "td" : "th", index ? {} : { scope: "row" }), (cell, words) => text(cell, words)));
  };
  parts.numbers.ontoggle = () => parts.numbers.open && write();
  if (parts.numbers.open) write();
}

/** Round numbers between two ends, about `wanted` of them. */
export function ticks(low, high, wanted) {
  if (!(high > low)) return [low];
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const result = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) result.push(index * step);
  return result;
}

/** Lines and words of a vertical axis. */
export function verticalAxis(group, values, position, write) {
  repeat(group, values, () => svg("g", {}, svg("line"), svg("text", { "text-anchor": "end" })), (mark, value) => {
    const y = position(value);
    set(mark.children[0], { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: y, y2: y });
    set(mark.children[1], { x: MARGIN.left - 6, y: y + 4 });
    text(mark.children[1], write(value, values.length > 1 ? values[1] - values[0] : value));
  });
}

/** Words below a horizontal axis: pairs of position and text. */
export function horizontalAxis(group, marks, y) {
  repeat(group, marks, () => svg("text", { "text-anchor": "middle" }), (mark, [x, words]) => {
    set(mark, { x, y });
    text(mark, words);
  });
}

/** Where a pointer is, in the drawing's own units. */
export function at(drawing, event) {
  const box = drawing.getBoundingClientRect();
  const view = drawing.viewBox.baseVal;
  return [((event.clientX - box.left) / box.width) * view.width, ((event.clientY - box.top) / box.height) * view.height];
}

/** Report a drag: `moved(start, now)` while it goes on, `done(start, end)` at its end; Escape gives it up. */
export function drag(drawing, moved, done, givenUp) {
  let start = null;
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = at(drawing, event);
    drawing.setPointerCapture(event.pointerId);
    moved(start, start);
  });
  drawing.addEventListener("pointermove", (event) => start && moved(start, at(drawing, event)));
  drawing.addEventListener("pointerup", (event) => {
    if (!start) return;
    const from = start;
    start = null;
    done(from, at(drawing, event));
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !start) return;
    start = null;
    givenUp();
  });
}

/** A slider with its label and its value in words, for the keyboard. */
export function slider(label, changed) {
  const words = el("output");
  const input = el("input", { type: "range", min: 0, step: 1, "aria-label": label, oninput: () => changed(Number(input.value)) });
  return { node: el("label", {}, el("span", {}, label), input, words), input, words };
}

/** Two sliders that are the two ends of a range of cells, and a button that asks. */
export function rangeSliders(label, changed, ask) {
  const low = slider(`${label}: from`, (value) => { if (value > Number(high.input.value)) high.input.value = value; changed(); });
  const high = slider(`${label}: to`, (value) => { if (value < Number(low.input.value)) low.input.value = value; changed(); });
  const button = ask ? el("button", { type: "button", onclick: ask }, "Ask this range") : null;
  const node = el("div", { class: "range" }, low.node, high.node, ...(button ? [button] : []));
  let touched = false;
  return {
    node,
    get: () => [Number(low.input.value), Number(high.input.value)],
    put(first, last) {
      touched = true;
      low.input.value = first;
      high.input.value = last;
    },
    size(cells) {
      for (const each of [low, high]) set(each.input, { max: cells - 1 });
      if (!touched) [low.input.value, high.input.value] = [0, cells - 1];
    },
    say(first, last) {
      for (const [each, words] of [[low, first], [high, last]]) {
        text(each.words, words);
        set(each.input, { "aria-valuetext": words });
      }
    },
  };
}
