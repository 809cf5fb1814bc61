// The planner: given a question and two of error, users and epsilon, it shows the third. The address holds every field.

import { Refusal, address, get } from "./api.js";
import { curves } from "./charts/curves.js";
import { el, repeat, set, show, text } from "./dom.js";
import { interval, percent, plain, whole } from "./words.js";

const FIELDS = [
  ["query", "Question", "range 300 500", "text"],
  ["within", "Plus or minus (half of the 95% interval)", "0.02", "text"],
  ["users", "Users", "100000", "text"],
  ["epsilon", "Epsilon", "", "text"],
  ["kind", "Kind of value", "ordinal", "text"],
  ["size", "How many values, or FIRST,LAST", "1024", "text"],
  ["low", "Lowest value, of numbers in bins and of means", "", "text"],
  ["high", "Highest value", "", "text"],
  ["bins", "How many bins", "", "text"],
  ["order", "Attributes in one table", "", "text"],
  ["shape", "Shape of the data (empty: the worst)", "", "text"],
  ["mechanism", "Only this mechanism (empty: all)", "", "text"],
];
const COLUMNS = ["mechanism", "epsilon", "users", "plus or minus", "finds a difference of", "bytes per report"];
const ALIKE = ["within", "users", "epsilon"]; // two of them give the third
const LABELS = Object.fromEntries(FIELDS.map(([name, label]) => [name, `"${label.split(/ \(|,/)[0]}"`]));
const DEFAULTS = { query: "range 300 500", within: "0.02", users: "100000", kind: "ordinal", size: "1024" };

export function planner(main) {
  const inputs = Object.fromEntries(FIELDS.map(([name, , example, type]) => [name, el("input", { name, type, placeholder: example, autocomplete: "off" })]));
  const form = el("form", { class: "plan", onsubmit: (event) => { event.preventDefault(); go(values()); } },
    ...FIELDS.map(([name, label]) => el("label", {}, el("span", {}, label), inputs[name])), el("button", {}, "Plan"));
  const status = el("p", { class: "note", role: "status" });
  const body = el("tbody");
  const table = el("table", { class: "plans" }, el("thead", {}, el("tr", {}, ...COLUMNS.map((words) => el("th", { scope: "col" }, words)))), body);
  const notes = el("ul");
  const example = el("p", { class: "note" });
  const file = el("pre", { tabindex: "0" });
  const copy = el("button", { type: "button", onclick: () => navigator.clipboard?.writeText(file.textContent) }, "Copy the survey file");
  const chart = curves((epsilon) => go({ ...values(), epsilon: epsilon.toPrecision(3), within: "" }));
  const result = el("section", { "aria-label": "Plan", hidden: true }, el("div", { class: "scroll" }, table), chart.node, notes, example, copy, file);
  main.append(el("h1", {}, "Plan a survey"), el("p", {}, "Give two of the three: the error you can live with, how many users answer, and epsilon. The third is computed for every mechanism."), form, status, result);
  let asking = null;

  const values = () => Object.fromEntries(FIELDS.map(([name]) => [name, inputs[name].value.trim()]).filter(([, value]) => value));
  const parameters = () => {
    const given = Object.fromEntries(new URLSearchParams(location.search));
    return Object.keys(given).length ? given : DEFAULTS;
  };

  function go(next) {
    history.pushState(null, "", address(location.pathname, next));
    load();
  }
  addEventListener("popstate", () => load());

  async function load() {
    const given = parameters();
    for (const [name] of FIELDS) inputs[name].value = given[name] ?? "";
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    text(status, "Planning: every mechanism is asked your question...");
    result.style.visibility = "hidden"; // it answers an older question; its place stays, so that nothing jumps
    try {
      if (ALIKE.filter((name) => given[name]).length !== 2) throw new Refusal(400, `Fill in two of ${ALIKE.map((name) => LABELS[name]).join(", ")}, and leave the third empty.`);
      const plan = await patient({ ...given, sketch: 1 }, signal);
      draw(plan, given);
      set(main, { "data-ready": true, "data-reports": 0, "data-state": "live" });
      const drawn = plan.rows.slice(0, 3).map((row) => row.mechanism);
      const lines = plan.curves; // by mechanism; rough ones first, each replaced by its exact one
      chart.update(lines, plan.users, plan.rows[0].unit);
      for (const mechanism of drawn) {
        Object.assign(lines, (await patient({ ...given, curve: mechanism }, signal)).curves);
        chart.update(lines, plan.users, plan.rows[0].unit);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refusal)) throw error;
      text(status, inWordsOfTheForm(error.message));
      show(result, false);
      set(main, { "data-ready": true, "data-reports": 0, "data-state": "live" });
    }
  }

  /** The server plans one question at a time for all viewers: while it is busy, ask again; any other refusal ends it. */
  async function patient(given, signal) {
    for (;;) {
      try {
        return await get(address("api/plan", given), signal);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== "busy") throw error;
        text(status, `${error.message}; waiting`);
        await new Promise((resolve) => setTimeout(resolve, 2000));
        signal.throwIfAborted();
      }
    }
  }

  function draw(plan) {
    const best = plan.rows.find((row) => row.recommended);
    text(status, best ? `Recommended: ${best.mechanism} with epsilon ${plain(best.epsilon, 0.01)}.` : "No mechanism reaches this; the best there is stands first.");
    show(result, true);
    result.style.visibility = "";
    const precision = (column) => smallestPositive(plan.rows.map((row) => row[column])) / 20;
    const [withinPrecision, detectsPrecision] = [precision("within"), precision("detects")];
    repeat(body, plan.rows, () => el("tr", {}, el("th", { scope: "row" }), ...COLUMNS.slice(1).map(() => el("td"))), (row, each) => {
      const write = writer(each.unit);
      const cells = [each.epsilon === null ? "none up to 10" : plain(each.epsilon, 0.01), whole(each.users), write(each.within, withinPrecision),
        each.detects === null ? "" : write(each.detects, detectsPrecision), whole(each.bytes)];
      text(row.firstChild, each.mechanism);
      set(row, { class: each.recommended ? "recommended" : null });
      cells.forEach((cell, index) => text(row.children[index + 1], cell));
    });
    const reasons = plan.rows.filter((row) => row.reason).map((row) => (row.reason.startsWith(row.mechanism) ? row.reason : `${row.mechanism}: ${row.reason}`));
    repeat(notes, [...plan.words, ...reasons], () => el("li"), (item, line) => text(item, line));
    const [first] = plan.example ?? [];
    const unit = plan.rows[0].unit;
    text(example, first ? `One simulated survey of this plan: ${first.query} is ${interval(first, unit)}; the truth was ${writer(unit)(first.truth, Math.abs(first.high - first.low) / 20)}.` : "");
    text(file, plan.survey ?? "");
    show(file, Boolean(plan.survey));
    show(copy, Boolean(plan.survey));
  }
  return { load };
}

/** A refusal names the parameter of the address; who filled in the form knows its label. */
function inWordsOfTheForm(message) {
  const [name] = message.split(" must ");
  return LABELS[name] ? LABELS[name] + message.slice(name.length) : message;
}

/** What writes a number of this unit as text. */
function writer(unit) {
  return unit === "share" ? percent : plain;
}

/** The number that decides how many digits a column has. */
function smallestPositive(numbers) {
  return Math.min(...numbers.filter((number) => number > 0));
}
