// Numbers and names as people read them.

const UNITS = { mbps: "Mbit/s", ms: "ms", s: "s", packets: "packets", bytes: "bytes", mb: "MB" };
const WORDS = {
  capacity_mbps: "Capacity", delay_ms: "Delay, one way", buffer_packets: "Buffer", count: "Flows",
  base_rtt_ms: "Base RTT", access_mbps: "Access rate", access_delay_ms: "Access delay, one way",
  duration_s: "Duration", warmup_s: "Warm-up", min_thresh_packets: "Lower threshold",
  max_thresh_packets: "Upper threshold", max_drop: "Largest drop probability", host: "Host",
  ack_bytes: "ACK size", packet_bytes: "Packet size", start_s: "Start",
  max_window_packets: "Largest window", ecn: "ECN", min_rto_s: "Smallest RTO", initial_rto_s: "First RTO",
};

/** Unit at the end of a key of a model file; empty for a number without one. */
export function unitOf(key) {
  return UNITS[key.slice(key.lastIndexOf("_") + 1)] ?? "";
}

/** A key of a model file in words, without its unit: buffer_packets becomes Buffer. */
export function words(key) {
  const plain = unitOf(key) ? key.slice(0, key.lastIndexOf("_")) : key;
  const text = plain.replaceAll("_", " ");
  return WORDS[key] ?? text.charAt(0).toUpperCase() + text.slice(1);
}

/** A tunable number in words: "vegas: alpha". */
export function nameInWords(name) {
  const dot = name.lastIndexOf("."), text = words(name.slice(dot + 1));
  return `${name.slice(0, dot)}: ${text.startsWith("ACK") ? text : text.charAt(0).toLowerCase() + text.slice(1)}`;
}

/** A number with about three significant digits and no exponent where it can be helped. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace("e+", "e");
  if (size >= 10 ** (digits - 1)) return String(Math.round(value));
  return String(Number(value.toPrecision(digits)));
}

export const percent = (share) => (share === null ? "–" : `${short(100 * share)} %`);
export const milliseconds = (seconds) => (seconds === null ? "–" : `${short(1e3 * seconds)} ms`);

/** Keys of nested tables as the errors of model files write them: flows.reno.count. */
export function pathText(keys) {
  return keys.map((key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key))).join(".");
}
