// What takes longer than a move: packet runs, a recommendation, an export.

import { ask, parts } from "./api.js";
import { showReasons } from "./reasons.js";
import { milliseconds, percent, short } from "./words.js";

const page = (id) => document.getElementById(id);
const NAMES = { toml: "Model file (TOML)", linux: "Linux: settings", freebsd: "FreeBSD: settings",
  openwrt: "OpenWrt: SQM", sonic: "SONiC: WRED profiles",
  netns: "Linux: network namespaces", ns2: "ns-2: scenario", ns3: "ns-3: scenario" };
const COMMANDS = ["confirm", "recommend", "why"];

/** A ratio with its confidence interval. */
export function intervalText(found) {
  if (!found.interval) return short(found.ratio);
  return `${short(found.ratio)} (95 % interval ${short(found.interval[0])} to ${short(found.interval[1])})`;
}

/** Buttons of the page; `site` gives the model and the class, and shows what a job finds. */
export class Jobs {
  constructor(site, formats) {
    Object.assign(this, { site, running: null, files: {} });
    page("confirm").addEventListener("click", () => this.confirm());
    page("recommend").addEventListener("click", () => this.recommend());
    page("why").addEventListener("click", () => this.why());
    page("why-close").addEventListener("click", () => page("why-dialog").close());
    page("stability").addEventListener("click", () => this.stability());
    page("cancel").addEventListener("click", () => this.running?.abort());
    page("format").replaceChildren(...["toml", ...formats].map((name) => new Option(NAMES[name] ?? name, name)));
    page("export").addEventListener("click", () => this.export());
    page("export-file").addEventListener("change", () => this.showFile());
    page("export-close").addEventListener("click", () => page("export-dialog").close());
    page("export-copy").addEventListener("click", () => this.site.copy(page("export-text").textContent, "File", "export-said"));
    page("export-save").addEventListener("click", () => this.save());
  }

  say(text) {
    page("job").textContent = text;
  }

  /** Run a long request; `onPart` takes its parts and returns true for the last one. */
  async run(name, body, onPart) {
    this.running?.abort();
    const own = this.running = new AbortController();
    for (const id of COMMANDS) page(id).disabled = true;
    page("cancel").hidden = false;
    try {
      for await (const part of parts(name, body, own.signal)) {
        if (part.errors) throw new Error(part.errors[0].message);
        if (part.progress) this.say(part.progress);
        onPart(part);
      }
    } catch (error) {
      this.say(error.name === "AbortError" ? "Cancelled." : error.message);
    }
    if (this.running !== own) return;
    this.running = null;
    for (const id of COMMANDS) page(id).disabled = false;
    page("cancel").hidden = true;
  }

  confirm() {
    const { model, tuned, point } = this.site.now();
    return this.run("packets", { document: model, tuned }, ({ confirmed }) => {
      if (!confirmed) return;
      this.site.mark({ ...point, ratio: confirmed.ratio, interval: confirmed.interval });
      this.say(`Packet simulator, ${confirmed.runs} runs: ratio ${intervalText(confirmed)}, delay ${milliseconds(confirmed.queueing_delay_s)}, drops ${percent(confirmed.drop_share)}. ${confirmed.note}`);
    });
  }

  /** Stability of the equilibrium, from theory; equations are compiled the first time, which takes seconds. */
  async stability() {
    const { model, tuned } = this.site.now();
    this.say("Stability of the equilibrium …");
    let found;
    try {
      found = await ask("stability", { document: model, tuned });
    } catch (error) {
      found = { errors: [{ message: error.message }] };
    }
    if (found.overtaken) return;
    if (found.errors) {
      this.say(found.errors[0].message);
      return;
    }
    const { ratio, queue_packets: queues, text } = found.stability;
    const waiting = Object.entries(queues).map(([name, packets]) => `${name} ${short(packets, 4)} packets`).join(", ");
    this.say(`Equilibrium in theory: ${ratio === null ? "" : `ratio ${short(ratio)}, `}queue of ${waiting}; ${text}`);
  }

  recommend() {
    const { model, vegas } = this.site.now(), steps = [];
    return this.run("recommend", { document: model, tuned: vegas }, ({ step, recommended }) => {
      if (step) {
        steps.push(step);
        this.site.path(vegas, steps);
      }
      if (!recommended) return;
      this.site.use(recommended);
      const verdict = recommended.reached ? "Goal reached." : `Goal not reached: ${recommended.reason}`;
      this.say(`${recommended.tuned}: alpha = ${short(recommended.alpha, 4)}, beta = ${short(recommended.beta, 4)}. Packet simulator, ${recommended.runs} runs: ratio ${intervalText(recommended)}; before ${short(recommended.before)}. ${verdict}`);
    });
  }

  /** Why the last recommendation is what it is, with packet runs of other settings. */
  why() {
    const { model } = this.site.now();
    return this.run("why", { document: model }, ({ why }) => {
      if (!why) return;
      this.say("");
      showReasons(why);
      page("why-dialog").showModal();
    });
  }

  async export() {
    const format = page("format").value, { model, text } = this.site.now();
    let found = { files: { "network.toml": text }, notes: [] };
    if (format !== "toml") {
      this.say("Exporting …");
      try {
        found = await ask("export", { document: model, format });
      } catch (error) {
        found = { errors: [{ message: error.message }] };
      }
      this.say("");
    }
    if (found.errors || found.overtaken) {
      this.say(found.errors?.[0].message ?? "");
      return;
    }
    this.files = found.files;
    page("export-file").replaceChildren(...Object.keys(found.files).map((name) => new Option(name, name)));
    page("export-notes").textContent = found.notes.join(" ");
    page("export-said").textContent = "";
    this.showFile();
    page("export-dialog").showModal();
  }

  showFile() {
    page("export-text").textContent = this.files[page("export-file").value];
  }

  save() {
    const name = page("export-file").value, url = URL.createObjectURL(new Blob([this.files[name]], { type: "text/plain" }));
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}
