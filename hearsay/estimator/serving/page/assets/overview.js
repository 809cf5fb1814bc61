// All surveys in one table, kept up to date by the stream.

import { root } from "./api.js";
import { el, repeat, set, show, text } from "./dom.js";
import { ago, interval, name, whole } from "./words.js";

const COLUMNS = ["survey", "state", "reports", "per second", "waiting", "mechanism", "newest answer"];
const MOST_ROWS = 500; // more are found by searching

export function overview(main) {
  const search = el("input", { type: "search", "aria-label": "Search surveys", placeholder: "Search surveys", oninput: () => draw() });
  const body = el("tbody", { role: "rowgroup" });
  const count = el("p", { class: "note", role: "status" });
  const troubles = el("ul", { class: "troubles" });
  const empty = el("p", {}, "No survey yet. Add one with ", el("code", {}, "hearsay survey add FILE.toml"), ".");
  show(empty, false); // until the first document: while a token is asked for, nobody knows which surveys there are
  const heads = COLUMNS.map((words) => el("th", { scope: "col", role: "columnheader" }, words));
  const table = el("table", { class: "surveys", role: "table" }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...heads)), body);
  main.append(el("h1", {}, "Surveys"), troubles, search, count, empty, el("div", { class: "scroll" }, table));
  let newest = { surveys: [], troubles: [] }; // the document that the stream sent last

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const all = newest.surveys.filter((survey) => survey.name.toLowerCase().includes(wanted));
    const shown = all.slice(0, MOST_ROWS);
    show(empty, newest.surveys.length === 0);
    show(table, newest.surveys.length > 0);
    show(search, newest.surveys.length > 8);
    text(count, all.length > shown.length ? `${shown.length} of ${all.length} shown: search for the others` : "");
    repeat(body, shown, makeRow, (row, survey) => {
      const link = row.children[0].firstChild;
      set(link, { href: `${root}surveys/${encodeURIComponent(survey.name)}` });
      text(link, survey.name);
      set(row.children[1].firstChild, { class: `state ${survey.state}` });
      text(row.children[1].firstChild, stateWords(survey));
      text(row.children[2], survey.simulated ? `${whole(survey.reports)} (${whole(survey.simulated)} simulated)` : whole(survey.reports));
      text(row.children[3], survey.rate === null ? "" : whole(survey.rate));
      text(row.children[4], survey.waiting ? `${whole(survey.waiting)}` : "");
      text(row.children[5], `${survey.mechanism}, epsilon ${survey.epsilon}`);
      text(row.children[6], headline(survey));
    });
    repeat(troubles, newest.troubles, () => el("li"), (item, trouble) => text(item, trouble));
  }

  return {
    update(document) {
      newest = document;
      const reports = document.surveys.reduce((total, survey) => total + survey.reports, 0);
      draw();
      set(main, { "data-ready": true, "data-reports": reports, "data-state": reports ? "live" : "none" });
    },
  };
}

// A narrow page shows each row as a block of lines, its label before each; the roles keep it a table for a screen reader.
function makeRow() {
  const cells = COLUMNS.slice(1).map((words) => el("td", { role: "cell", "data-label": words }));
  cells[0].append(el("span"));
  return el("tr", { role: "row" }, el("th", { scope: "row", role: "rowheader" }, el("a")), ...cells);
}

// A survey's state, and how old its newest answers are.
function stateWords(survey) {
  return survey.age_s === null || survey.age_s === undefined ? survey.state : `${survey.state}, ${ago(survey.age_s)}`;
}

// "query, item: value (interval)". A query with many answers shows only the first, so the item says which. It is left out where the
// query names it (`range 30 60`), or where it is the value itself (a quantile).
function headline(survey) {
  const answer = survey.headline;
  if (!answer) return "";
  const [item, shown] = [name(answer), [...answer.query.split(" "), String(answer.value)]];
  const isShown = item === answer.query || [answer.item].flat().every((end) => shown.includes(String(end)));
  return `${isShown ? answer.query : `${answer.query}, ${item}`}: ${interval(answer, answer.unit)}`;
}
