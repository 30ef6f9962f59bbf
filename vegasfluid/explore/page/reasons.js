// Why a recommended alpha has its value: the dialog with its terms, theory, and other rules on packets.

import { short } from "./words.js";

const page = (id) => document.getElementById(id);

function row(texts) {
  const made = document.createElement("tr");
  made.append(...texts.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
  return made;
}

function paragraphs(lines) {
  return lines.map((line) => Object.assign(document.createElement("p"), { textContent: line }));
}

/** Fill the dialog with the reasons for a recommendation. */
export function showReasons({ alpha, terms, lines, rules, measured }) {
  page("why-head").textContent = `Why alpha = ${short(alpha, 4)}`;
  const signed = ([name, packets]) => row([name, `${packets < 0 ? "−" : "+"}${Math.abs(packets).toFixed(2)}`]);
  page("why-terms").hidden = terms.length === 0;
  page("why-terms").tBodies[0].replaceChildren(...terms.map(signed), row(["alpha, packets", short(alpha, 4)]));
  page("why-theory").replaceChildren(...paragraphs(lines));
  page("why-rules").tBodies[0].replaceChildren(...rules.map(([name, a, b, ratio, low, high, jain, delay]) => (
    row([name, short(a, 4), short(b, 4), `${short(ratio)} (${short(low)} to ${short(high)})`, short(jain), short(1e3 * delay)]))));
  page("why-measured").replaceChildren(...paragraphs(measured));
}
