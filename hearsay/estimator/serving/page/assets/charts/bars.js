// One row per label: a bar from 0, its interval as a line and in words. A row's button asks for that label.

import { el, repeat, set, svg, text } from "../dom.js";
import { interval, name, quoted } from "../words.js";
import { figure, table } from "./frame.js";

const WIDE = 300; // of a bar's drawing, in its own units
const TALL = 18;

/** An empty drawing for one bar: the line at 0, the bar, and its interval. `drawBar` puts them in place. */
export function barCell() {
  return svg("svg", { class: "bar", viewBox: `0 0 ${WIDE} ${TALL}`, "aria-hidden": "true" },
    svg("line", { class: "zero", y1: 0, y2: TALL }), svg("rect", { y: 3, height: TALL - 6 }), svg("line", { class: "band", y1: TALL / 2, y2: TALL / 2 }));
}

/** Draw an answer's value and interval on an axis from `low` to `high`. */
export function drawBar(node, answer, low, high) {
  const x = (value) => ((Math.min(Math.max(value, low), high) - low) / (high - low)) * WIDE;
  const zero = x(0);
  const [line, bar, band] = node.children;
  const value = answer.value ?? 0;
  set(line, { x1: zero, x2: zero });
  set(bar, { x: Math.min(zero, x(value)), width: Math.abs(x(value) - zero), class: answer.low > 0 || answer.high < 0 ? null : "pale" });
  set(band, { x1: x(answer.low ?? value), x2: x(answer.high ?? value) });
}

/**
 * The ends of one axis for all bars: it holds 0 and every interval. Intervals are cut to what is possible and values are
 * not, so a value may lie far outside its interval; its bar stops at the axis' end.
 */
export function extent(answers) {
  const ends = answers.flatMap(({ value, low, high }) => [low ?? value ?? 0, high ?? value ?? 0]);
  return [Math.min(0, ...ends), Math.max(1e-9, ...ends)];
}

export function bars(view, page) {
  const parts = figure("bars", view.title, 1); // its one drawing is not used: every row has its own
  parts.drawing.remove();
  const body = el("tbody");
  const rows = el("table", { class: "bars" }, el("thead", {}, el("tr", {}, ...["value", "share", "95% interval"].map((words) => el("th", { scope: "col" }, words)))), body);
  parts.node.insertBefore(el("div", { class: "scroll" }, rows), parts.note);

  function update(document) {
    const answers = document.answers;
    const [least, most] = extent(answers);
    repeat(body, answers, makeRow, (row, answer) => {
      const button = row.firstChild.firstChild;
      text(button, name(answer));
      button.onclick = () => page.ask(`point ${queryValue(answer)}`);
      drawBar(row.children[1].firstChild, answer, least, most);
      text(row.children[2], interval(answer, "share"));
    });
    text(parts.note, "Shares that cannot be told from 0 are paler.");
    table(parts, ["value", "share (95% interval)"], answers.map((answer) => [name(answer), interval(answer, "share")]));
  }
  return { node: parts.node, update, controls: parts.controls };
}

function makeRow() {
  return el("tr", {}, el("th", { scope: "row" }, el("button", { type: "button", class: "label" })), el("td", {}, barCell()), el("td"));
}

// What an answer is about, as a query names it; `name` is for reading. A cell of several axes is an object: a value per axis.
function queryValue(answer) {
  return answer.cell ? Object.values(answer.cell).map(quoted).join(" ") : quoted(answer.item);
}
