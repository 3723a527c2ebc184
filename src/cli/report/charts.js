// SPDX-License-Identifier: Apache-2.0
// Numbers in words, and scatter charts. Text from the cache file only ever becomes a text node or an attribute value.
const svg_name = "http://www.w3.org/2000/svg";

function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  Object.assign(node, properties);
  node.append(...children);
  return node;
}
function svg_element(name, attributes = {}, ...children) {
  const node = document.createElementNS(svg_name, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function digits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
function time_text(us) {
  if (us === null) return "–";
  if (us < 1) return `${Math.round(us * 1000)} ns`;
  if (us < 1e3) return `${digits(us)} µs`;
  return us < 1e6 ? `${digits(us / 1e3)} ms` : `${digits(us / 1e6)} s`;
}
function size_text(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return unit === 0 ? (bytes === 0 ? "0" : `${bytes} B`) : `${digits(bytes)} ${units[unit]}`;
}
function ratio_text(ratio) { return ratio === null ? "–" : ratio.toFixed(2); }

// The round numbers of an axis from the last at or below `low` to the first at or above `high`: powers of two for bytes,
// 1, 2 and 5 of each power of ten for times.
function round_numbers(low, high, is_bytes) {
  const factors = is_bytes ? [1] : [1, 2, 5], base = is_bytes ? 2 : 10;
  const numbers = [];
  for (let power = Math.floor(Math.log(low) / Math.log(base) - 1e-9); ; ++power) {
    for (const factor of factors) {
      numbers.push(factor * base ** power);
      if (numbers.at(-1) >= high * (1 - 1e-9) && numbers.length > 1) {
        const start = numbers.findLastIndex((number) => number <= low * (1 + 1e-9));
        return numbers.slice(Math.max(0, Math.min(start, numbers.length - 2)));
      }
    }
  }
}

// A logarithmic axis for values above 0. With `has_zero` there is a place for 0, too.
function log_axis(values, from, to, is_bytes, has_zero) {
  const positive = values.filter((value) => value > 0);
  const numbers = positive.length ? round_numbers(positive.reduce((a, b) => Math.min(a, b)),
    positive.reduce((a, b) => Math.max(a, b)), is_bytes) : [1, 2];
  const low = numbers[0], high = numbers.at(-1);
  const start = has_zero ? from + (to - from) * .14 : from;
  const place = (value) => value <= 0 ? from :
    start + (to - start) * (Math.log(value / low)) / Math.log(high / low);
  const step = Math.ceil((numbers.length - 1) / 4);
  const ticks = numbers.filter((number, index) => index % step === 0);
  return {place, ticks: has_zero ? [0, ...ticks] : ticks, low, high};
}

// points: {x, y, title, kind, open}. options: {x_name, y_name, x_text, y_text, is_bytes, is_square, label}
function draw_scatter(host, points, options) {
  host.replaceChildren();
  if (points.length === 0) {
    host.append(element("p", {className: "hint", textContent: "Nothing was measured here."}));
    return;
  }
  const width = 480, height = 340, left = 66, right = 14, top = 10, bottom = 46;
  const xs = points.map((point) => point.x), ys = points.map((point) => point.y);
  const both = options.is_square ? xs.concat(ys) : null;
  const x_axis = log_axis(both ?? xs, left, width - right, options.is_bytes, options.is_bytes);
  const y_axis = log_axis(both ?? ys, height - bottom, top, false, false);
  const chart = svg_element("svg", {viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "group",
    "aria-label": `${options.label}: ${points.length} points. Arrow keys go from point to point, Enter opens one.`});
  for (const tick of x_axis.ticks) {
    const x = x_axis.place(tick);
    chart.append(svg_element("line", {class: "grid", x1: x, x2: x, y1: top, y2: height - bottom}),
      svg_element("text", {x, y: height - bottom + 16,
        "text-anchor": x > width - 3 * right ? "end" : "middle"}, options.x_text(tick)));
  }
  for (const tick of y_axis.ticks) {
    const y = y_axis.place(tick);
    chart.append(svg_element("line", {class: "grid", x1: left, x2: width - right, y1: y, y2: y}),
      svg_element("text", {x: left - 6, y: y + 4, "text-anchor": "end"}, options.y_text(tick)));
  }
  chart.append(svg_element("text", {x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle"}, options.x_name),
    svg_element("text", {x: 12, y: (top + height - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 12 ${(top + height - bottom) / 2})`}, options.y_name));
  if (options.is_square) {
    chart.append(svg_element("line", {class: "same", x1: x_axis.place(x_axis.low), y1: y_axis.place(x_axis.low),
      x2: x_axis.place(x_axis.high), y2: y_axis.place(x_axis.high)}));
  }
  const ordered = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const marks = ordered.map((point) => {
    const place = {cx: x_axis.place(point.x), cy: y_axis.place(point.y)};
    const mark = svg_element("g", {class: `mark ${point.kind ?? ""}`}, svg_element("title", {}, point.title),
      svg_element("circle", {...place, r: 5}), svg_element("circle", {...place, r: 11, class: "reach"}));
    mark.addEventListener("click", point.open);
    return mark;
  });
  chart.append(...marks);
  let current = -1;
  chart.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[event.key];
    if (step !== undefined) {
      marks[current]?.classList.remove("current");
      current = current < 0 ? (step > 0 ? 0 : marks.length - 1) : (current + step + marks.length) % marks.length;
      marks[current].classList.add("current");
      chart.append(marks[current]);
      document.getElementById("said").textContent = ordered[current].title;
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === " ") && current >= 0) {
      ordered[current].open();
      event.preventDefault();
    }
  });
  host.append(chart);
}
