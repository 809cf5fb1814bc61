// One survey: what is promised, its charts, a box for any question. Everything that is shown is in the address.

import { Refusal, address, get, root } from "./api.js";
import { answerBox } from "./answer.js";
import { bars } from "./charts/bars.js";
import { cdf } from "./charts/cdf.js";
import { histogram } from "./charts/histogram.js";
import { keys } from "./charts/keys.js";
import { map } from "./charts/map.js";
import { series } from "./charts/series.js";
import { answersTable } from "./charts/table.js";
import { tree } from "./charts/tree.js";
import { el, repeat, set, show, text } from "./dom.js";
import { memory, stretches } from "./resolution.js";
import { stateWords } from "./states.js";
import { remark, together as allAtOnce, whole } from "./words.js";

const CHARTS = { histogram, cdf, map, bars, keys, tree, table: answersTable };
const WITH_TRUTH = new Set(["histogram", "cdf"]);
const SERIES_WINDOWS = 48;
const RESOLUTIONS = [4, 8, 16, 32, 64, 128, 256];

export function survey(main, say) {
  const name = decodeURIComponent(location.pathname.replace(/\/$/, "").split("/").at(-1));
  const path = `api/surveys/${encodeURIComponent(name)}`;
  const title = el("h1", {}, name);
  const summary = el("p", { class: "summary" });
  const state = el("p", { class: "note", role: "status" });
  const windows = el("select", { "aria-label": "Window", onchange: () => go(apart(windows.value, parameters().against, "window")) });
  const method = el("select", { "aria-label": "Post-processing", onchange: () => go({ postprocess: method.value }) });
  const together = el("input", { type: "checkbox", onchange: () => go({ simultaneous: together.checked ? "1" : null }) });
  const counts = el("input", { type: "checkbox", onchange: () => go({ count: counts.checked ? "1" : null }) });
  const compare = el("select", { "aria-label": "Compare with window", onchange: () => go(apart(parameters().window ?? "all", compare.value, "against")) });
  const options = el("div", { class: "options" },
    el("label", {}, "Window ", windows), el("label", {}, "Compare with ", compare), el("label", {}, "Post-processing ", method),
    el("label", {}, together, " intervals for all bars at once"), el("label", {}, counts, " numbers of reports"));
  const promise = el("section", { class: "promise", "aria-label": "What is promised to devices" }, el("h2", {}, "What is promised to devices"), el("ul"));
  const truth = el("p", { class: "truth-note", hidden: true }, "The thin red line is the truth of simulated people: a real survey never has it.");
  const simulated = el("p", { class: "note", "data-simulated": "", hidden: true }, "Simulated devices reported to this survey: its answers are not about real people alone.");
  const gallery = el("section", { class: "gallery", "aria-label": "Charts" });
  const history = series("Over the windows");
  const box = answerBox({ name, ask: (question) => go({ q: question }), parameters, path });
  let detail = null;
  let row = null;
  let charts = [];
  let running = null;
  let again = false;
  let missing = false; // nobody registered it, or it was deleted
  const resolutions = memory();
  const known = new Map(); // reports behind what was drawn last
  main.append(title, summary, simulated, state, options, box.node, truth, gallery, history.node, promise);
  show(history.node, false);

  function parameters() {
    return Object.fromEntries(new URLSearchParams(location.search));
  }

  /** Two windows to compare must have no report in common: what was just chosen stays, the other one moves. */
  function apart(window, against, chosen) {
    if (!against || (window !== "all" && window !== against)) return { window, against };
    if (chosen === "window" && window === "all") return { window, against: "" };
    const kept = chosen === "window" ? window : against;
    const other = (detail?.windows ?? []).filter((each) => each !== kept).at(-1) ?? "";
    return chosen === "window" ? { window, against: other } : { window: other || "all", against: other && against };
  }

  /** Change the address, then what is shown. */
  function go(changes) {
    const next = { ...parameters(), ...changes };
    window.history.pushState(null, "", address(location.pathname, next));
    refresh();
  }
  addEventListener("popstate", () => refresh());

  async function load() {
    try {
      detail = await get(path);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      return unknown(error.message);
    }
    if (missing) {
      say("");
      [options, box.node, promise].forEach((part) => show(part, true));
    }
    missing = false;
    text(summary, `${detail.mechanism}, epsilon ${detail.epsilon}, ${detail.kind ?? detail.domain}`);
    repeat(promise.lastChild, detail.promise ?? [detail.guarantee.words], () => el("li"), (item, words) => text(item, words));
    box.queries(detail.queries ?? []);
    build(detail.views ?? []);
    await refresh();
  }

  async function unknown(message) {
    missing = true;
    [options, box.node, promise].forEach((part) => show(part, false));
    say(message);
    const known = await get("api/overview").catch(() => ({ surveys: [] }));
    gallery.replaceChildren(el("p", {}, "These surveys exist:"), el("ul", {}, ...known.surveys.map((each) =>
      el("li", {}, el("a", { href: `${root}surveys/${encodeURIComponent(each.name)}` }, each.name)))));
    set(main, { "data-ready": true, "data-reports": 0, "data-state": "none" });
  }

  function build(views) {
    const key = JSON.stringify(views);
    if (gallery.dataset.views === key) return;
    gallery.dataset.views = key;
    charts = views.map((view) => ({ view, ...CHARTS[view.chart in CHARTS ? view.chart : "table"](view, { ask: (question) => go({ q: question }) }) }));
    charts.forEach((chart) => {
      const refusal = el("p", { class: "note", hidden: true });
      const remarked = el("p", { class: "note", "data-remark": "", hidden: true });
      chart.node.append(remarked, refusal);
      chart.remark = (words) => {
        text(remarked, words);
        show(remarked, words !== "");
      };
      chart.refuse = (words) => {
        text(refusal, words);
        show(refusal, words !== "");
      };
    });
    charts.forEach((chart) => chart.view.resolution && chart.controls.append(resolution()));
    gallery.replaceChildren(...charts.map((chart) => chart.node));
  }

  /** Buttons for coarser and finer; without `n` in the address the server follows the noise. */
  function resolution() {
    const step = (by) => {
      const drawn = charts.find((chart) => chart.view.resolution)?.drawn ?? 32;
      const nearest = RESOLUTIONS.findIndex((each) => each >= drawn);
      go({ n: RESOLUTIONS[Math.min(Math.max((nearest < 0 ? RESOLUTIONS.length : nearest) + by, 0), RESOLUTIONS.length - 1)] });
    };
    return el("div", { class: "resolution", role: "group", "aria-label": "Resolution" },
      el("button", { type: "button", onclick: () => step(-1) }, "Coarser"), el("button", { type: "button", onclick: () => step(1) }, "Finer"),
      el("button", { type: "button", onclick: () => go({ n: null }) }, "As the noise allows"));
  }

  /** One refresh at a time; what changes meanwhile is caught up with once. */
  function refresh() {
    if (running) {
      again = true;
      return running;
    }
    running = draw().finally(() => {
      running = null;
      if (again) {
        again = false;
        refresh();
      }
    });
    return running;
  }

  async function draw() {
    const given = parameters();
    const chosen = { window: given.window, simultaneous: given.simultaneous };
    controls(given);
    const asked = charts.map((chart) => chart.view).map((view) => fetchView(view, chosen, given));
    const [answers] = await Promise.all([Promise.allSettled(asked), box.refresh(given), overTime(given)]);
    answers.forEach((result, index) => {
      if (result.status === "fulfilled") {
        const [asked, also] = result.value;
        charts[index].drawn = asked.answers.length;
        charts[index].update({ ...asked, answers: allAtOnce(asked.answers) }, also);
        charts[index].remark(remark([...asked.answers, ...(also?.answers ?? [])]));
        charts[index].refuse("");
      } else if (result.reason instanceof Refusal) charts[index].refuse(result.reason.message);
    });
    const first = answers.find((result) => result.status === "fulfilled")?.value[0];
    show(truth, answers.some((result, index) => result.value?.[0].truth && WITH_TRUTH.has(charts[index].view.chart)));
    report(first);
  }

  async function fetchView(view, chosen, given) {
    const postprocess = view.methods?.includes(given.postprocess) ? given.postprocess : null;
    const together = view.many === false ? null : chosen.simultaneous;
    const ask = (words, extra) => get(address(`${path}/query`, { q: words, window: chosen.window, ...extra }));
    const also = view.also ? ask(view.also, {}).catch(() => null) : null;
    const options = { postprocess, simultaneous: together };
    if (!view.resolution) return [await ask(view.query, options), await also];
    if (given.n) return [await ask(`${view.query} ${Array(view.axes ?? 1).fill(given.n).join(" ")}`, options), await also];
    const key = `${view.query} ${chosen.window ?? "all"}`;
    const kept = resolutions.asked(key, known.get(key) ?? 0);
    const document = await ask(kept ? `${view.query} ${kept.join(" ")}` : view.query, options);
    known.set(key, document.reports);
    if (!kept) resolutions.keep(key, document.reports, stretches(document, view.axes));
    return [document, await also];
  }

  async function overTime(given) {
    const several = (detail?.windows?.length ?? 0) > 1 && given.q;
    show(history.node, Boolean(several));
    if (!several) return;
    try {
      const rows = await get(address(`${path}/series`, { q: given.q, windows: SERIES_WINDOWS }));
      history.update(given.q, rows);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      show(history.node, false);
    }
  }

  function controls(given) {
    const names = ["all", ...(detail?.windows ?? []).filter((each) => each !== "all").slice().reverse()];
    choices(windows, names, given.window ?? "all");
    choices(compare, ["", ...names.slice(1)], given.against ?? "");
    show(compare.parentElement, names.length > 2);
    choices(method, ["", ...(detail?.methods ?? [])], given.postprocess ?? "");
    show(method.parentElement, (detail?.methods ?? []).length > 0);
    together.checked = given.simultaneous === "1";
    counts.checked = given.count === "1";
  }

  function report(document) {
    const reports = document?.reports ?? row?.reports ?? 0;
    const current = row?.state ?? (document ? "live" : reports ? "few" : "none");
    set(main, { "data-ready": true, "data-reports": reports, "data-state": current });
    text(state, stateWords(current, { name, reports, minimum: detail?.minimum_reports ?? 1, row }));
    box.rate(row?.rate ?? null, reports);
    text(summary, `${detail.mechanism}, epsilon ${detail.epsilon}, ${whole(reports)} reports`);
    show(simulated, Boolean(row?.simulated ?? detail.simulated));
  }

  function event(kind, data) {
    if (kind === "overview") {
      row = data.surveys.find((each) => each.name === name) ?? null;
      if (row === null && detail !== null) {
        missing = true;
        return say(`Survey ${name} was deleted; what you see is the last picture.`);
      }
      if (row && missing) return load();
      if (row && detail && (charts.length === 0 || detail.windows.at(-1) !== row.window)) return load();
      if (row && main.dataset.state !== row.state) report(null);
    } else if (kind === "survey" && data.name === name) refresh();
  }
  return { load, event };
}

function choices(select, values, chosen) {
  repeat(select, values, () => el("option"), (option, value) => {
    set(option, { value });
    text(option, value === "" ? "none" : value);
  });
  if (select.value !== chosen) select.value = chosen;
}
