// Requests to the estimator's interface. Addresses are relative, so that the page also works below a path of a proxy.

export const root = document.documentElement.dataset.root;
const TOKEN = "hearsay-token";

/** A request that was refused: `message` is the one line that the command line would print, `code` a stable word. */
export class Refusal extends Error {
  constructor(status, message, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

export function remember(token) {
  sessionStorage.setItem(TOKEN, token);
}

/** What every request carries; the token lives in this tab only, and never in an address. */
export function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/** The JSON at an address; the browser asks again with the last ETag, and unchanged answers cost no body.
 *  What the estimator's last pass saw is new enough: whatever changes is told by an event. */
export async function get(path, signal) {
  let response;
  try {
    response = await fetch(root + path, { headers: { "Cache-Control": "max-age=2", ...headers() }, cache: "no-cache", signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("the server does not answer");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, body.error ?? `status ${response.status}`, body.code);
  return body;
}

/** A path with parameters; those that are empty are left out. */
export function address(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Hand an answer to the person as a file; a link could not carry the token. */
export async function download(path, name) {
  const response = await fetch(root + path, { headers: headers() });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
