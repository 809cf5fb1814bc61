// Where the page begins: one view for each address, one stream for the tab.

import { Refusal, Unreachable, get, remember } from "./api.js";
import { el, set, show, text } from "./dom.js";
import { follow } from "./live.js";
import { overview } from "./overview.js";
import { planner } from "./plan.js";
import { survey } from "./survey.js";
import { moment } from "./words.js";

const main = document.querySelector("main");
const banner = document.querySelector("#banner");
const view = document.documentElement.dataset.page;

/** Ask for the token that the server wants; it stays in this tab. */
function askToken() {
  if (document.querySelector("#token")) return;
  const input = el("input", { type: "password", id: "token", autocomplete: "off", "aria-label": "Token" });
  const form = el("form", { onsubmit: (event) => { event.preventDefault(); remember(input.value); location.reload(); } },
    el("label", { for: "token" }, "This server asks for its token (HEARSAY_API_TOKEN): "), input, el("button", {}, "Open"));
  main.append(form);
  input.focus();
}

function say(words) {
  text(banner, words);
  show(banner, words !== "");
}

async function begin() {
  if (view === "plan") return planner(main).load().catch((error) => (error instanceof Refusal && error.status === 401 ? askToken() : Promise.reject(error)));
  const shown = view === "survey" ? survey(main, say) : overview(main);
  let gone = false;
  const load = async () => {
    try {
      if (view === "survey") await shown.load();
      else shown.update(await get("api/overview"));
      if (gone) say("");
      gone = false;
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) askToken();
      else if (error instanceof Refusal) say(error.message);
      else if (!(error instanceof Unreachable)) throw error;
    }
  };
  await load();
  follow(
    (event, data) => {
      if (event === "open") load();
      else if (view === "survey") shown.event(event, data);
      else if (event === "overview") shown.update(data);
    },
    (since, refusal) => {
      if (refusal?.status === 401) return askToken();
      gone = true;
      set(main, { "data-state": "gone" });
      say(`The server has not answered since ${moment(since)}. Trying again; what you see is the last picture.`);
    },
  );
}

begin();
