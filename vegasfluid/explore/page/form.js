// The form of the network: its fields are the keys of the model file, with errors beside them.

import { colour, controlColours } from "./colours.js";
import { pathText, short, unitOf, words } from "./words.js";

const SHOWN = new Set(["capacity_mbps", "delay_ms", "buffer_packets", "count", "host", "duration_s", "warmup_s",
  "alpha_packets", "beta_packets", "gamma_packets", "dialect", "max_drop"]);
const LEFT_OUT = new Set(["title", "source"]);

/** The value in nested tables at a list of keys; undefined where there is none. */
export function valueAt(table, keys) {
  return keys.reduce((found, key) => (found === null || found === undefined ? undefined : found[key]), table);
}

/** A copy of nested tables with another value at a list of keys; undefined removes the key. */
export function withValue(table, keys, value) {
  const copy = structuredClone(table);
  let inner = copy;
  for (const key of keys.slice(0, -1)) inner = inner[key] ??= {};
  if (value === undefined) delete inner[keys[keys.length - 1]];
  else inner[keys[keys.length - 1]] = value;
  return copy;
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** What was typed, as JSON: a number where it is one, otherwise the text, which the check refuses. */
function typed(text) {
  const plain = text.trim().replace(",", ".");
  if (plain === "") return undefined;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : text.trim();
}

/** The form; `onEdit(document)` is called with a changed document, `onSwitch` after another law. */
export class NetworkForm {
  constructor(form, schema, onEdit) {
    Object.assign(this, { form, schema, onEdit, document: null, inputs: new Map() });
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Show a document; inputs are made anew only where it has other tables than before. */
  show(model) {
    this.document = model;
    const shape = JSON.stringify(this.groups().map(({ title, fields, choices }) => [
      title, fields.map((field) => field.path), choices]));
    if (shape !== this.shape) {
      this.shape = shape;
      this.build();
    }
    for (const input of this.inputs.values()) {
      if (input !== document.activeElement) this.fill(input);
    }
  }

  /** Groups of fields: links, flow classes and times, each with its paths in the document. */
  groups() {
    const { document: model, schema } = this, groups = [];
    const links = model.bottleneck ? [["Bottleneck", ["bottleneck"]]] : Object.keys(model.links ?? {}).map((name) => [name, ["links", name]]);
    for (const [title, path] of links) groups.push(this.group(title, path, "link", ["aqm"]));
    for (const name of Object.keys(model.flows ?? {})) {
      groups.push(this.group(name, ["flows", name], "flows", ["law", "traffic"]));
    }
    groups.push({ title: "Run", path: [], choices: [], fields: schema.model.map((field) => ({ ...field, path: [field.key] })) });
    return groups;
  }

  group(title, path, kind, tables) {
    const fields = this.schema[kind].map((field) => ({ ...field, path: [...path, field.key] }));
    const choices = tables.map((table) => [table, valueAt(this.document, [...path, table, "name"])]);
    for (const [table, name] of choices) {
      for (const field of this.schema[table][name] ?? []) {
        fields.push({ ...field, path: [...path, table, field.key], of: name });
      }
    }
    return { title, path, choices, fields, flows: kind === "flows" };
  }

  build() {
    this.inputs.clear();
    this.form.replaceChildren(...this.groups().map((group) => this.fieldset(group)));
    this.form.querySelector("fieldset:last-of-type")?.before(this.addition());
  }

  /** A choice of congestion controls, which adds a class of flows with it. */
  addition() {
    const names = Object.keys(this.schema.law).sort();
    const select = element("select", { id: "add-class" }, new Option("Add flows …", ""), ...names.map((name) => new Option(name, name)));
    select.setAttribute("aria-label", "Add a class of flows with the congestion control");
    select.addEventListener("change", () => this.change(withValue(this.document, ["flows", this.freeName(select.value)], this.newClass(select.value))));
    return element("div", { className: "add" }, select);
  }

  freeName(law) {
    const taken = this.document.flows;
    let name = law;
    for (let number = 2; name in taken; number += 1) name = `${law}${number}`;
    return name;
  }

  /** Settings of the first class with another congestion control. */
  newClass(law) {
    const { law: _, traffic, ...same } = structuredClone(Object.values(this.document.flows)[0]);
    return { ...same, law: { name: law } };
  }

  removal({ title, path }) {
    const button = element("button", { type: "button", className: "plain", textContent: "Remove" });
    button.setAttribute("aria-label", `Remove the flows ${title}`);
    button.addEventListener("click", () => this.change(withValue(this.document, path, undefined)));
    return button;
  }

  /** Show another set of tables at once, even while something else in the form is not valid. */
  change(model) {
    this.show(model);
    this.onEdit(model);
  }

  fieldset(group) {
    const legend = element("legend");
    if (group.flows) {
      const laws = Object.fromEntries(Object.entries(this.document.flows).map(([name, flows]) => [name, flows.law?.name]));
      const dot = element("span", { className: "dot" });
      dot.style.background = controlColours(laws)[group.title] ?? colour("muted");
      legend.append(dot);
    }
    legend.append(group.title);
    if (group.flows && Object.keys(this.document.flows).length > 1) legend.append(this.removal(group));
    const more = element("details", {}, element("summary", { textContent: "More settings" }));
    const set = element("fieldset", {}, legend);
    const choices = new Map(group.choices.map(([table, name]) => [table, this.choice(group, table, name)]));
    if (choices.has("aqm")) group.fields.sort((a, b) => (a.path.includes("aqm") ? 1 : 0) - (b.path.includes("aqm") ? 1 : 0));
    const first = group.fields.filter((field) => !field.of);
    for (const field of first) (this.isMain(field) ? set : more).append(this.field(field));
    for (const [table, row] of choices) {
      (table === "traffic" && !valueAt(this.document, [...group.path, table]) ? more : set).append(row);
      for (const field of group.fields.filter((one) => one.of && one.path.at(-2) === table)) {
        (this.isMain(field) ? set : more).append(this.field(field));
      }
    }
    if (more.childElementCount > 1) set.append(more);
    return set;
  }

  isMain(field) {
    const { key, required, path } = field;
    const exists = valueAt(this.document, path) !== undefined;
    return required || SHOWN.has(key) || (exists && !LEFT_OUT.has(key));
  }

  row(path, text, input, unit) {
    const id = `field-${pathText(path)}`, error = element("div", { className: "error", id: `${id}-error`, hidden: true });
    Object.assign(input, { id });
    input.dataset.path = pathText(path);
    input.setAttribute("aria-describedby", error.id);
    const label = element("label", { htmlFor: id, textContent: text });
    const row = element("div", { className: unit === null ? "field wide" : "field" }, label, input);
    if (unit !== null) row.append(element("span", { className: "unit", textContent: unit }));
    row.append(error);
    this.inputs.set(input.dataset.path, input);
    return row;
  }

  field(field) {
    let input, unit = unitOf(field.key);
    if (field.type === "boolean") {
      input = element("input", { type: "checkbox" });
    } else if (field.type === "choice") {
      const empty = field.default === null ? "by default" : `${field.default} (default)`;
      input = element("select", {}, new Option(empty, ""), ...field.options.map((name) => new Option(name, name)));
      unit = null;
    } else {
      input = element("input", { type: "text", inputMode: field.type === "number" ? "decimal" : "text", spellcheck: false });
      input.setAttribute("inputmode", input.inputMode);
      input.placeholder = field.default === null ? (field.required ? "" : "default") : String(field.type === "number" ? short(field.default, 5) : field.default);
    }
    input.field = field;
    input.addEventListener(field.type === "choice" || field.type === "boolean" ? "change" : "input", () => this.edit(input));
    return this.row(field.path, words(field.key), input, unit);
  }

  choice(group, table, name) {
    const names = Object.keys(this.schema[table]).sort();
    const text = { law: "Congestion control", aqm: "Queue discipline", traffic: "Traffic" }[table];
    const empty = { aqm: "droptail", traffic: "bulk" }[table];
    const input = element("select", {}, ...names.map((one) => new Option(one, one)));
    input.field = { type: "choice", key: "name", default: empty, path: [...group.path, table, "name"] };
    input.addEventListener("change", () => {
      this.onEdit(withValue(this.document, [...group.path, table], { name: input.value, ...this.first(group, table, input.value) }));
    });
    return this.row(input.field.path, text, input, null);
  }

  /** First values of required numbers of a law: thresholds of queues are parts of the buffer. */
  first(group, table, name) {
    if (table !== "aqm") return {};
    const buffer = valueAt(this.document, [...group.path, "buffer_packets"]);
    const required = this.schema.aqm[name].filter((field) => field.required);
    const part = (field) => Math.max(1, Math.round(buffer * (field.key.startsWith("max") ? 0.6 : 0.2)));
    return Object.fromEntries(required.map((field) => [field.key, part(field)]));
  }

  fill(input) {
    const { field } = input, value = valueAt(this.document, field.path);
    const table = typeof value === "object" && value !== null;
    input.disabled = table;
    if (field.type === "boolean") input.checked = value ?? field.default ?? false;
    else if (table) input.value = Array.isArray(value) ? "a list" : "a table";
    else input.value = value ?? (field.key === "name" ? field.default ?? "" : "");
  }

  edit(input) {
    const { field } = input;
    const value = field.type === "boolean" ? input.checked : field.type === "number" ? typed(input.value) : input.value.trim() || undefined;
    this.onEdit(withValue(this.document, field.path, value));
  }

  /** Show errors beside their fields; returns those that belong to no field. */
  showErrors(errors) {
    const rest = [];
    for (const input of this.inputs.values()) {
      input.removeAttribute("aria-invalid");
      const shown = document.getElementById(`${input.id}-error`);
      Object.assign(shown, { hidden: true, textContent: "" });
    }
    for (const { path, message } of errors) {
      const input = this.inputs.get(path) ?? this.inputs.get(path.replace(/\[\d+\]$/, "")) ?? this.inputs.get(`${path}.name`);
      if (!input) {
        rest.push(path ? `${path}: ${message}` : message);
        continue;
      }
      input.setAttribute("aria-invalid", "true");
      const shown = document.getElementById(`${input.id}-error`);
      Object.assign(shown, { hidden: false, textContent: message });
      shown.closest("details")?.setAttribute("open", "");
    }
    return rest;
  }
}
