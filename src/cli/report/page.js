// SPDX-License-Identifier: Apache-2.0
// The page itself: filters, summary, groups, table, and the candidates of a problem.
const report = JSON.parse(document.getElementById("data").textContent);
const by_id = (id) => document.getElementById(id);

const entries = report.entries.map((entry, index) => {
  const candidates = entry.candidates.map(([choice, name, time, spread, samples, workspace, build, remarks]) =>
    ({choice, name, time, spread, samples, workspace, build, remarks}));
  const tuned = candidates.find((candidate) => candidate.time !== null) ?? null;
  const heuristic = candidates[entry.heuristic] ?? null;
  const is_compared = tuned !== null && heuristic !== null && heuristic.time !== null;
  const environment = report.environments[entry.environment];
  return {...entry, index, candidates, tuned, heuristic, environment,
    ratio: is_compared ? heuristic.time / tuned.time : null,
    saved: is_compared ? heuristic.time - tuned.time : null,
    words: `${entry.digest} ${entry.label} ${entry.problem} ${entry.api} ${environment}`.toLowerCase()};
});
const sum = (list, value) => list.reduce((total, item) => total + value(item), 0);

const filters = {direction: "filter-direction", dtype: "filter-dtype", environment: "filter-environment",
  status: "filter-status"};
for (const [member, id] of Object.entries(filters)) {
  by_id(id).append(element("option", {value: "", textContent: "all"}));
  for (const value of [...new Set(entries.map((entry) => entry[member]))].sort()) {
    by_id(id).append(element("option", {value, textContent: value}));
  }
}

function shown_entries() {
  const words = by_id("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((entry) => words.every((word) => entry.words.includes(word)) &&
    Object.entries(filters).every(([member, id]) => by_id(id).value === "" || by_id(id).value === entry[member]));
}

function tell_summary(shown) {
  const compared = shown.filter((entry) => entry.ratio !== null);
  const before = sum(compared, (entry) => entry.heuristic.time);
  const after = sum(compared, (entry) => entry.tuned.time);
  const faster = compared.filter((entry) => entry.ratio > 1.01).length;
  const tiles = [
    ["Problems", shown.length],
    ["Compared with the heuristic", compared.length],
    ["Heuristic, each once", time_text(compared.length ? before : null)],
    ["Tuned, each once", time_text(compared.length ? after : null)],
    ["Gain", compared.length ? `${(before / after).toFixed(2)} ×` : "–"],
    ["Faster by over 1 %", faster],
    ["Candidates measured", sum(shown, (entry) => entry.candidates.filter((c) => c.time !== null).length)],
    ["Spent on measuring", time_text(sum(shown, (entry) => entry.tuning_us))],
  ];
  by_id("tiles").replaceChildren(...tiles.map(([name, value]) =>
    element("div", {}, element("dt", {textContent: name}), element("dd", {textContent: value}))));
  by_id("filter-count").textContent = `${shown.length} of ${entries.length} shown`;
}

const groupings = {
  problem: (entry) => [String(entry.index), entry.label, () => open_detail(entry)],
  "direction-dtype": (entry) => [`${entry.direction} ${entry.dtype}`, `${entry.direction} ${entry.dtype}`,
    () => set_filters({direction: entry.direction, dtype: entry.dtype})],
  environment: (entry) => [entry.environment, entry.environment, () => set_filters({environment: entry.environment})],
};
const most_groups = 20;

function tell_gain(shown) {
  const groups = new Map();
  for (const entry of shown.filter((one) => one.ratio !== null)) {
    const [key, name, open] = groupings[by_id("gain-group").value](entry);
    const group = groups.get(key) ?? {name, open, before: 0, after: 0};
    group.before += entry.heuristic.time;
    group.after += entry.tuned.time;
    groups.set(key, group);
  }
  const changed = [...groups.values()].filter((group) => group.before !== group.after);
  const sorted = changed.sort((a, b) => (b.before - b.after) - (a.before - a.after));
  const listed = sorted.slice(0, most_groups);
  const longest = Math.max(...listed.map((group) => Math.max(group.before, group.after)), 0);
  by_id("gain").replaceChildren(...listed.map((group) => {
    const width = (time) => Math.max(.5, 399 * time / longest);
    const bars = svg_element("svg", {viewBox: "0 0 400 16", preserveAspectRatio: "none", "aria-hidden": "true"},
      svg_element("rect", {class: "tuned-fill", x: 0, y: 3, height: 10, width: width(group.after)}),
      svg_element("rect", {class: "heuristic-line", x: .75, y: 1, height: 14, width: width(group.before),
        "vector-effect": "non-scaling-stroke"}));
    const value = `${(group.before / group.after).toFixed(2)} ×, ${group.before >= group.after ? "−" : "+"}` +
      time_text(Math.abs(group.before - group.after));
    const button = element("button", {type: "button", title: `${time_text(group.before)} before, ${time_text(group.after)} tuned`},
      element("span", {className: "name", textContent: group.name}), bars,
      element("span", {className: "value", textContent: value}));
    button.addEventListener("click", group.open);
    return element("li", {}, button);
  }));
  const rest = [];
  if (groups.size === 0) rest.push("No problem here has a measured choice of the heuristic.");
  if (sorted.length > listed.length) rest.push(`${sorted.length - listed.length} more are in the table.`);
  if (groups.size > sorted.length) rest.push(`${groups.size - sorted.length} keep the heuristic's choice.`);
  by_id("gain-rest").textContent = rest.join(" ");
}

function tell_charts(shown) {
  const title = (entry) => `${entry.label}: ${time_text(entry.tuned.time)}` + (entry.ratio === null ? "" :
    `, heuristic ${time_text(entry.heuristic.time)}`) + `, workspace ${size_text(entry.tuned.workspace)}`;
  const point = (entry, x, y) => ({x, y, title: title(entry), open: () => open_detail(entry)});
  draw_scatter(by_id("speed-chart"), shown.filter((entry) => entry.ratio !== null).map((entry) =>
    point(entry, entry.heuristic.time, entry.tuned.time)), {x_name: "heuristic's choice", y_name: "tuned choice",
    x_text: axis_time, y_text: axis_time, is_square: true, label: "Time of the tuned choice over that of the heuristic's"});
  draw_scatter(by_id("memory-chart"), shown.filter((entry) => entry.tuned !== null).map((entry) =>
    point(entry, entry.tuned.workspace, entry.tuned.time)), {x_name: "workspace", y_name: "time", x_text: axis_size,
    y_text: axis_time, is_bytes: true, label: "Time over workspace"});
}
const without_zeros = (text) => text.replace(/\.0+(?= )/, "");
const axis_time = (us) => without_zeros(time_text(us));
const axis_size = (bytes) => without_zeros(size_text(bytes));

// [title, class, text of an entry, value to sort by, whether greater ones come first]
const columns = [
  ["Problem", "wide", null, (entry) => entry.label, false],
  ["Tuned", "number", (entry) => time_text(entry.tuned?.time ?? null), (entry) => entry.tuned?.time ?? -1, true],
  ["Heuristic", "number", (entry) => time_text(entry.heuristic?.time ?? null), (entry) => entry.heuristic?.time ?? -1, true],
  ["Ratio", "number", (entry) => ratio_text(entry.ratio), (entry) => entry.ratio ?? -1, true],
  ["Saved", "number", (entry) => entry.saved === null ? "–" : entry.saved < 0 ? `−${time_text(-entry.saved)}` :
    time_text(entry.saved), (entry) => entry.saved ?? -Infinity, true],
  ["Workspace", "number", (entry) => entry.tuned ? size_text(entry.tuned.workspace) : "–",
    (entry) => entry.tuned?.workspace ?? -1, true],
  ["Choice", "choice", (entry) => entry.tuned?.choice ?? "–", (entry) => entry.tuned?.choice ?? "", false],
  ["Status", "", (entry) => entry.status, (entry) => entry.status, false],
];
const page_rows = 50;
let order = {column: 1, is_descending: true}, nb_rows = page_rows;

by_id("problems").tHead.rows[0].append(...columns.map(([title, kind, , , descends], column) => {
  const button = element("button", {type: "button", textContent: title});
  button.addEventListener("click", () => {
    order = {column, is_descending: order.column === column ? !order.is_descending : descends};
    show();
  });
  return element("th", {scope: "col", className: kind === "wide" ? "" : kind}, button);
}));

function tell_problems(shown) {
  const value = columns[order.column][3];
  const sign = order.is_descending ? -1 : 1;
  const sorted = [...shown].sort((a, b) => {
    const x = value(a), y = value(b);
    return x < y ? -sign : x > y ? sign : a.index - b.index;
  });
  [...by_id("problems").tHead.rows[0].cells].forEach((cell, column) => cell.ariaSort =
    column !== order.column ? null : order.is_descending ? "descending" : "ascending");
  by_id("problems-title").textContent = order.column === 1 && order.is_descending ? "Slowest problems" : "Problems";
  by_id("problems").tBodies[0].replaceChildren(...sorted.slice(0, nb_rows).map((entry) => {
    const button = element("button", {type: "button", textContent: entry.label});
    button.addEventListener("click", () => open_detail(entry));
    return element("tr", {}, ...columns.map(([, kind, text]) =>
      text === null ? element("td", {className: kind}, button) : element("td", {className: kind, textContent: text(entry)})));
  }));
  by_id("more").hidden = sorted.length <= nb_rows;
}

function show() {
  const shown = shown_entries();
  tell_summary(shown);
  tell_gain(shown);
  tell_charts(shown);
  tell_problems(shown);
}

function set_filters(values) {
  by_id("filters").reset();
  for (const [member, value] of Object.entries(values)) by_id(filters[member]).value = value;
  by_id("gain-group").value = "problem";
  show();
}

const candidate_columns = ["#", "Candidate", "Time", "To fastest", "Spread", "Samples", "Workspace", "Build", "What it is", "Remarks"];
by_id("candidates").tHead.rows[0].append(...candidate_columns.map((title, column) =>
  element("th", {scope: "col", textContent: title, className: column === 0 || (column > 1 && column < 8) ? "number" : ""})));

function open_detail(entry) {
  const times = entry.candidates.filter((candidate) => candidate.time !== null).map((candidate) => candidate.time);
  const fastest = times.length ? Math.min(...times) : null;
  by_id("detail-title").textContent = entry.label;
  const facts = {Problem: entry.problem, API: entry.api, "GPU and cuDNN": entry.environment,
    Digest: `${entry.digest}, revision ${entry.revision}`, Status: entry.status,
    Written: `${entry.when} by ${entry.by}, in ${time_text(entry.tuning_us)}`};
  by_id("detail-facts").replaceChildren(...Object.entries(facts).flatMap(([name, value]) =>
    [element("dt", {textContent: name}), element("dd", {textContent: value})]));
  by_id("candidates").tBodies[0].replaceChildren(...entry.candidates.map((candidate, index) => {
    const cells = [index + 1, candidate.choice + (candidate === entry.heuristic ? " (heuristic)" : ""),
      time_text(candidate.time), ratio_text(candidate.time === null || !fastest ? null : candidate.time / fastest),
      time_text(candidate.spread), candidate.samples, size_text(candidate.workspace), time_text(candidate.build),
      candidate.name, candidate.remarks];
    return element("tr", {className: candidate === entry.tuned ? "tuned" : candidate.time === null ? "unused" : ""},
      ...cells.map((text, column) => element("td", {textContent: text,
        className: column === 0 || (column > 1 && column < 8) ? "number" : ""})));
  }));
  draw_scatter(by_id("detail-chart"), entry.candidates.filter((candidate) => candidate.time !== null).map((candidate) => ({
    x: candidate.workspace, y: candidate.time, kind: candidate === entry.heuristic ? "heuristic" : "",
    title: `${candidate.choice}: ${time_text(candidate.time)}, workspace ${size_text(candidate.workspace)}`,
    open: () => {}})), {x_name: "workspace", y_name: "time", x_text: axis_size, y_text: axis_time,
    is_bytes: true, label: "Time of the candidates over their workspace"});
  history.replaceState(null, "", `#${entry.digest}`);
  by_id("detail").showModal();
}
by_id("detail-close").addEventListener("click", () => by_id("detail").close());
by_id("detail").addEventListener("click", (event) => { if (event.target === by_id("detail")) by_id("detail").close(); });
by_id("detail").addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));

function start() {
  by_id("subtitle").textContent = `${report.file}, read ${report.when} by ${report.by}`;
  const notes = [];
  if (report.total > entries.length) {
    notes.push(`The ${entries.length} slowest of ${report.total} problems are on this page.`);
  }
  if (report.damaged > 0) notes.push(`${report.damaged} damaged lines of the file were left out.`);
  by_id("notes").textContent = notes.join(" ");
  by_id("filters").addEventListener("input", () => { nb_rows = page_rows; show(); });
  by_id("filters").addEventListener("reset", () => setTimeout(show));
  by_id("filters").addEventListener("submit", (event) => event.preventDefault());
  by_id("gain-group").addEventListener("input", show);
  by_id("more").addEventListener("click", () => { nb_rows *= 4; show(); });
  by_id("main").hidden = false;
  show();
  addEventListener("beforeprint", () => { nb_rows = entries.length; show(); });
  addEventListener("afterprint", () => { nb_rows = page_rows; show(); });
  const linked = entries.find((entry) => `#${entry.digest}` === location.hash);
  if (linked) open_detail(linked);
}
start();
