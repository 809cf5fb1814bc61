// Any answers as rows. Where attributes can be chosen, their table is asked for anew.

import { el, repeat, text } from "../dom.js";
import { interval, name, quoted } from "../words.js";

export function answersTable(view, page) {
  const body = el("tbody");
  const caption = el("figcaption", {}, view.title);
  const controls = el("div", { class: "controls" });
  const rows = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "of"), el("th", { scope: "col" }, "answer (95% interval)"))), body);
  const node = el("figure", { "data-chart": "table" }, caption, controls, el("div", { class: "scroll" }, rows));
  if (view.choose) controls.append(chooser(view, page));

  function update(document) {
    const apart = new Set(document.answers.map((answer) => answer.query)).size > 1; // several quantiles, each its own question
    repeat(body, document.answers, () => el("tr", {}, el("th", { scope: "row" }), el("td")), (row, answer) => {
      text(row.firstChild, apart ? answer.query : name(answer));
      text(row.lastChild, interval(answer, document.unit ?? "share"));
    });
  }
  return { node, update, controls };
}

/** Boxes to tick, at most as many as the survey collected together, and a button. */
function chooser(view, page) {
  const { verb, from, most } = view.choose;
  const boxes = from.map((each) => el("input", { type: "checkbox", value: each, onchange: () => limit() }));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const limit = () => boxes.forEach((box) => (box.disabled = !box.checked && chosen().length >= most));
  const ask = () => chosen().length && page.ask(`${verb} ${chosen().map(quoted).join(" ")}`);
  const labels = boxes.map((box) => el("label", {}, box, ` ${box.value}`));
  return el("fieldset", {}, el("legend", {}, `Table of up to ${most}`), ...labels, el("button", { type: "button", onclick: ask }, "Ask for this table"));
}
