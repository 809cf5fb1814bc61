// What each state of a survey means, in words.

import { ago, whole } from "./words.js";

export function stateWords(state, { name, reports, minimum, row }) {
  const waiting = row?.waiting ? ` ${whole(row.waiting)} reports wait to be counted.` : "";
  const changed = row?.age_s === null || row?.age_s === undefined ? "" : `last change ${ago(row.age_s)}`;
  const words = {
    none: `No reports yet. Send simulated ones with: hearsay produce ${name} --devices 10000.`,
    few: `${whole(reports)} of ${whole(minimum)} reports: answers are withheld until there are enough.`,
    live: changed && `Up to date, ${changed}.`,
    closed: reports < minimum ? `Closed with ${whole(reports)} of ${whole(minimum)} reports: answers are withheld.` : `Closed: it takes no more reports${changed && `, ${changed}`}.`,
    stale: "The estimator has not finished a pass for a while: these answers may be old.",
    still: `Something keeps reports from being counted: ${(row?.troubles ?? []).join("; ") || "see hearsay status --check"}.`,
  };
  return (words[state] ?? "") + waiting;
}
