// Pairs of attributes: the dependency tree, or all correlations. A pair opens its table.

import { el, repeat, set, svg, text } from "../dom.js";
import { interval, quoted } from "../words.js";
import { WIDTH, figure, table } from "./frame.js";

const HEIGHT = 300;

export function tree(view, page) {
  const parts = figure("tree", view.title, HEIGHT);
  const edges = svg("g", { class: "edges" });
  const nodes = svg("g", { class: "nodes" });
  parts.drawing.append(edges, nodes);
  const list = el("ul", { class: "pairs" });
  parts.controls.append(list);

  function update(document) {
    const answers = document.answers;
    const names = [...new Set(answers.flatMap((answer) => [answer.cell.first, answer.cell.second]))];
    const place = (index) => {
      const angle = (2 * Math.PI * index) / names.length - Math.PI / 2;
      return [WIDTH / 2 + (WIDTH / 2 - 110) * Math.cos(angle), HEIGHT / 2 + (HEIGHT / 2 - 34) * Math.sin(angle)];
    };
    const most = Math.max(...answers.map((answer) => Math.abs(answer.value ?? 0)), 1e-9);
    repeat(edges, answers, () => svg("line", {}, svg("title")), (node, answer) => {
      const [[x1, y1], [x2, y2]] = [answer.cell.first, answer.cell.second].map((each) => place(names.indexOf(each)));
      set(node, { x1, y1, x2, y2, "stroke-width": 1 + 7 * Math.abs(answer.value ?? 0) / most, class: answer.low > 0 || answer.high < 0 ? null : "pale" });
      text(node.firstChild, `${pair(answer)}: ${interval(answer, "own")}`);
      node.onclick = () => open(answer);
    });
    repeat(nodes, names, () => svg("g", {}, svg("circle", { r: 6 }), svg("text", { "text-anchor": "middle" })), (node, each, index) => {
      const [x, y] = place(index);
      set(node.firstChild, { cx: x, cy: y });
      set(node.lastChild, { x, y: y + (y < HEIGHT / 2 ? -12 : 22) });
      text(node.lastChild, each);
    });
    repeat(list, answers, () => el("li", {}, el("button", { type: "button", class: "label" }), el("span")), (item, answer) => {
      text(item.firstChild, pair(answer));
      text(item.lastChild, ` ${interval(answer, "own")}`);
      item.firstChild.onclick = () => open(answer);
    });
    table(parts, ["pair", `${document.answers[0]?.query ?? ""} (95% interval)`], answers.map((answer) => [pair(answer), interval(answer, "own")]));
  }
  const open = (answer) => page.ask(`marginal ${quoted(answer.cell.first)} ${quoted(answer.cell.second)}`);
  return { node: parts.node, update, controls: parts.controls };
}

function pair(answer) {
  return `${answer.cell.first} and ${answer.cell.second}`;
}
