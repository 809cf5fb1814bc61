// The box that takes any question, and the answer with its interval, ready to copy.

import { Refusal, address, download, get } from "./api.js";
import { answersTable } from "./charts/table.js";
import { el, repeat, set, show, text } from "./dom.js";
import { halfWidth, interval, moment, moreReports, quoted, remark, together, whole } from "./words.js";

export function answerBox({ name, ask, path }) {
  const list = el("datalist", { id: "queries" });
  const input = el("input", { type: "text", name: "q", list: "queries", autocomplete: "off", spellcheck: "false", "aria-label": "Question" });
  const help = el("ul");
  const form = el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); ask(input.value.trim()); } },
    input, list, el("button", {}, "Ask"), el("details", {}, el("summary", {}, "What can be asked"), help));
  const line = el("p", { class: "answer" });
  const notes = el("p", { class: "note" });
  const command = el("code");
  const copy = el("button", { type: "button", onclick: () => navigator.clipboard?.writeText(command.textContent) }, "Copy");
  const csv = el("button", { type: "button", onclick: () => download(address(`${path}/query`, { ...asked, format: "csv" }), `${name}.csv`) }, "CSV");
  const json = el("button", { type: "button", onclick: () => download(address(`${path}/query`, asked), `${name}.json`) }, "JSON");
  const rows = answersTable({ title: "Answers" }, { ask });
  const take = el("p", { class: "copy" }, command, copy, csv, json);
  const answer = el("div", { "aria-live": "polite", hidden: true }, line, rows.node, notes, take);
  const node = el("section", { "aria-label": "Ask" }, form, answer);
  let asked = {};
  let refused = ""; // why options were left out
  let unit = "share";
  let rate = null;
  let reports = 0;

  async function refresh(given) {
    show(answer, Boolean(given.q));
    if (!given.q) return;
    if (document.activeElement !== input && input.value !== given.q) input.value = given.q;
    const { q, window, count, simultaneous, postprocess, against } = given;
    const question = { q, window, count, against };
    try {
      draw(await askServer({ ...question, simultaneous, postprocess }, question));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      text(line, error.message);
      set(answer, { "data-answer": null, "data-query": null, "data-value": null, "data-low": null, "data-high": null });
      show(rows.node, false);
      show(take, false);
      text(notes, "");
    }
  }

  /** Options that this question does not take are left out, as for the charts, and a note says so. */
  async function askServer(all, bare) {
    try {
      asked = all;
      refused = "";
      return await get(address(`${path}/query`, all));
    } catch (error) {
      if (!(error instanceof Refusal) || JSON.stringify(all) === JSON.stringify(bare)) throw error;
      asked = bare;
      const left = [all.postprocess && "post-processing", all.simultaneous && "simultaneous intervals"].filter(Boolean).join(" and ");
      refused = `Answered without ${left}: ${error.message}.`;
      return await get(address(`${path}/query`, bare));
    }
  }

  function draw(found) {
    const [first] = found.answers;
    unit = asked.count === "1" ? "own" : found.unit ?? "share";
    reports = found.reports;
    set(answer, {
      "data-answer": true, "data-query": first?.query ?? asked.q,
      "data-value": first?.value ?? null, "data-low": first?.low ?? null, "data-high": first?.high ?? null,
    });
    const many = found.answers.length !== 1;
    show(rows.node, many);
    show(take, true);
    text(line, many ? `${asked.q}: ${found.answers.length} answers` : `${first.query}: ${interval(first, unit)}, 95% interval`);
    if (many) rows.update({ ...found, answers: together(found.answers) });
    text(notes, [refused, remark(found.answers), many ? "" : more(first)].join(" ").trim());
    const flags = [["window", asked.window], ["against", asked.against], ["postprocess", asked.postprocess]].filter(([, value]) => value);
    const switches = [["count", asked.count], ["simultaneous", asked.simultaneous]].filter(([, value]) => value === "1");
    const words = found.query; // as the server writes it: quoted for a shell, whatever stood in the address
    text(command, ["hearsay query", quoted(name), words, ...flags.map(([flag, value]) => `--${flag} ${quoted(value)}`), ...switches.map(([flag]) => `--${flag}`)].join(" "));
  }

  /** How many more reports make a share known to one point, and when they will be there. */
  function more(found) {
    if (found.of) return `Difference of two windows, ${found.of.map((each) => each?.toPrecision(4) ?? "unknown").join(" and ")}.`;
    if (unit !== "share" || found.low === null) return "";
    const half = halfWidth(found);
    const needed = moreReports(half, reports);
    if (!needed) return "Known to within 1 percentage point.";
    const when = rate > 0 ? `, at today's rate at ${moment(Date.now() + (needed / rate) * 1000)}` : "";
    return `${whole(needed)} more reports would make it plus or minus 1 percentage point${when}.`;
  }

  return {
    node,
    refresh,
    rate: (perSecond, count) => { rate = perSecond; reports = count || reports; },
    queries(all) {
      set(input, { placeholder: all[0]?.grammar ?? "" });
      repeat(list, all, () => el("option"), (option, each) => set(option, { value: each.grammar }));
      repeat(help, all, () => el("li", {}, el("code"), el("span")), (item, each) => {
        text(item.firstChild, each.grammar);
        text(item.lastChild, ` ${each.help}`);
      });
    },
  };
}
