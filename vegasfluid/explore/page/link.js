// The state of the page in its address, behind #, so that a link or a bookmark brings it back.

let timer;

function encoded(text) {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decoded(text) {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}

/** Write model, axes, metric and class into the address, without a new entry in the history. */
export function writeLink({ model, x, y, metric, tuned }) {
  clearTimeout(timer);
  const ends = ({ name, low, high }) => ({ name, low, high });
  const text = JSON.stringify({ model, x: ends(x), y: ends(y), metric, tuned });
  timer = setTimeout(() => history.replaceState(null, "", `#${encoded(text)}`), 150);
}

/** The state in the address; null where there is none that can be read. */
export function readLink() {
  try {
    return JSON.parse(decoded(location.hash.slice(1)));
  } catch {
    return null;
  }
}
