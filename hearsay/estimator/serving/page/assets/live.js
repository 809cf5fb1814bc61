// One stream per tab, closed while nobody looks: a browser has six connections to a host.

import { headers, root, Refusal } from "./api.js";

const PAUSE_MS = [500, 1000, 2000, 4000];

/** Follow the server's events until the tab is closed. `on(name, data)` for each, `lost(since, refusal)` while away. */
export function follow(on, lost) {
  let controller = null;
  let tries = 0;
  let timer = null;
  let since = null;

  const start = () => {
    clearTimeout(timer);
    if (controller === null && !document.hidden) read();
  };
  const stop = () => {
    clearTimeout(timer);
    controller?.abort();
    controller = null;
  };

  async function read() {
    const mine = (controller = new AbortController());
    let refusal = null;
    try {
      const response = await fetch(`${root}api/events`, { headers: headers(), signal: mine.signal, cache: "no-store" });
      if (!response.ok) throw new Refusal(response.status, `status ${response.status}`);
      tries = 0;
      since = null;
      on("open", null);
      await events(response.body.getReader(), on);
    } catch (error) {
      if (error instanceof Refusal) refusal = error;
      if (error.name === "AbortError") return;
    }
    if (controller !== mine) return;
    controller = null;
    since ??= new Date();
    lost(since, refusal);
    if (refusal?.status !== 401) timer = setTimeout(start, PAUSE_MS[Math.min(tries++, PAUSE_MS.length - 1)]);
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", start);
  start();
  return start;
}

async function events(reader, on) {
  const decoder = new TextDecoder();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += decoder.decode(value, { stream: true });
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.event && fields.data) on(fields.event, JSON.parse(fields.data));
    }
  }
}
