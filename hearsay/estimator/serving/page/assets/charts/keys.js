// Share of devices that hold each key, and the mean of what they hold, as bars with intervals; sortable.

import { el, repeat, text } from "../dom.js";
import { interval, name, quoted } from "../words.js";
import { barCell, drawBar, extent } from "./bars.js";
import { figure, table } from "./frame.js";

export function keys(view, page) {
  const parts = figure("keys", view.title, 1); // its one drawing is not used: every cell has its own
  parts.drawing.remove();
  let order = "key";
  let last = null;
  const sorted = { key: null, share: "share", mean: "mean" };
  const heads = Object.entries({ key: "key", share: "holders", mean: "mean among holders" }).map(([column, words]) =>
    el("th", { scope: "col" }, el("button", { type: "button", class: "label", onclick: () => { order = column; last && update(...last); } }, words)));
  const body = el("tbody");
  parts.node.insertBefore(el("div", { class: "scroll" }, el("table", { class: "bars" }, el("thead", {}, el("tr", {}, ...heads)), body)), parts.note);

  function update(shares, means) {
    last = [shares, means];
    const byKey = new Map((means?.answers ?? []).map((answer) => [name(answer), answer]));
    const rows = shares.answers.map((share) => ({ share, mean: byKey.get(name(share)) }));
    const rank = { key: null, share: (row) => row.share.value ?? -Infinity, mean: (row) => row.mean?.value ?? -Infinity }[order];
    if (rank) rows.sort((a, b) => rank(b) - rank(a));
    heads.forEach((head, index) => head.setAttribute("aria-sort", Object.keys(sorted)[index] === order ? (index ? "descending" : "ascending") : "none"));
    const ofShares = extent(rows.map(({ share }) => share));
    const ofMeans = extent(rows.flatMap(({ mean }) => (mean ? [mean] : [])));
    repeat(body, rows, makeRow, (row, { share, mean }) => {
      const button = row.children[0].firstChild;
      text(button, name(share));
      button.onclick = () => page.ask(`${mean ? "mean" : "point"} ${quoted(name(share))}`);
      drawBar(row.children[1].firstChild, share, ...ofShares);
      text(row.children[1].lastChild, interval(share, "share"));
      row.children[2].hidden = !mean;
      if (!mean) return;
      drawBar(row.children[2].firstChild, mean, ...ofMeans);
      text(row.children[2].lastChild, interval(mean, "own"));
    });
    table(parts, ["key", "holders", "mean"], rows.map(({ share, mean }) => [name(share), interval(share, "share"), mean ? interval(mean, "own") : ""]));
  }
  return { node: parts.node, update, controls: parts.controls };
}

function makeRow() {
  const cell = () => el("td", {}, barCell(), el("span"));
  return el("tr", {}, el("th", { scope: "row" }, el("button", { type: "button", class: "label" })), cell(), cell());
}
