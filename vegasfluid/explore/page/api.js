// Requests to the server that this page came from. Addresses are relative, so they have its token.

/** Name of this tab, by which the server knows which of its requests are overtaken. */
export const tab = crypto.getRandomValues(new Uint32Array(4)).join("-");

function post(name, body, signal) {
  return fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tab, ...body }),
    signal,
  });
}

/** The JSON answer to a request; an Error where the server has refused it or is gone. */
export async function ask(name, body, signal) {
  let answer;
  try {
    answer = await post(name, body, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer: vegasfluid explore has ended.");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.refused ?? `The server answers with status ${answer.status}.`);
  return found;
}

/** The parts of a long answer, one JSON object a line, as they come. */
export async function* parts(name, body, signal) {
  const answer = await post(name, body, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
    if (done) return;
  }
}
