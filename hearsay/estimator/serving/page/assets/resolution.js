// How many stretches are drawn: as many as the noise allows, and not another number with every report.

const GROWTH = 2; // reports must double before the picture changes again

/** How many stretches a document has along each axis. */
export function stretches(document, axes) {
  if (axes !== 2) return [document.answers.length];
  const names = Object.keys(document.answers[0]?.cell ?? {});
  return names.map((name) => new Set(document.answers.map((answer) => JSON.stringify(answer.cell[name]))).size);
}

/** Remembers the server's choice for each question and window: `asked(key, reports)` is it, or null to ask anew. */
export function memory() {
  const kept = new Map();
  return {
    asked(key, reports) {
      const choice = kept.get(key);
      return choice && reports >= choice.reports && reports < GROWTH * choice.reports ? choice.stretches : null;
    },
    keep(key, reports, chosen) {
      kept.set(key, { reports, stretches: chosen });
    },
  };
}
