// What all instruments share: drawing, sliders, handles for mouse, touch and keyboard, and their places on a page.

// ---- numbers ----
const range = n => [...Array(n).keys()];
const sum = numbers => numbers.reduce((a, b) => a + b, 0);
const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
const between = (x, low, high) => Math.min(high, Math.max(low, x));

function softmax(scores) {
  const top = Math.max(...scores), grown = scores.map(s => Math.exp(s - top)), all = sum(grown);
  return grown.map(g => g / all);
}

// As people write them: a real minus, no minus zero
const number = (x, digits = 2) => x.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, "$1").replace("-", "−");
const roughly = x => number(x, Math.abs(x) < 0.995 ? 2 : Math.abs(x) < 9.95 ? 1 : 0);

function tiny(x) {
  if (x === 0 || x >= 0.0005) return number(x, x < 0.095 ? 3 : 2);
  const [digit, power] = x.toExponential(0).split("e-");
  return `${digit} · 10⁻${[...power].map(c => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")}`;
}

// A round step for an axis: 1, 2 or 5 times a power of ten, about `many` of them up to `limit`
function step_of(limit, many) {
  const power = 10 ** Math.floor(Math.log10(limit / many)), times = limit / many / power;
  return power * (times < 2 ? 1 : times < 5 ? 2 : 5);
}

// ---- elements ----
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
  }
  return element;
}

function made(element, attributes, inside) {
  element.append(...inside);
  return set(element, attributes);
}

const html = (tag, attributes = {}, ...inside) => made(document.createElement(tag), attributes, inside);
const svg = (tag, attributes = {}, ...inside) =>
  made(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, inside);

const paint = colour => colour === "none" ? "none" : `var(--${colour})`;
const [rect, circle, polygon, path] = ["rect", "circle", "polygon", "path"].map(
  tag => (colour, more = {}) => svg(tag, { fill: paint(colour), ...more }));
const [line, outline] = ["line", "rect"].map(
  tag => (colour, more = {}) => svg(tag, { fill: "none", stroke: paint(colour), ...more }));
const text = (look, words = "", more = {}) => svg("text", { class: look, ...more }, words);

const box_at = (box, x, y, width, height) => set(box, { x, y, width, height });
const line_at = (line, x1, y1, x2, y2) => set(line, { x1, y1, x2, y2 });
const shown = (element, yes) => set(element, { display: yes ? null : "none" });
function text_at(element, x, y, words) {
  set(element, { x, y });
  if (words !== undefined) element.textContent = words;
  return element;
}

// A drawing as wide as its place: draw(width) fills it, and returns its height
function sheet(attributes, draw) {
  const drawing = svg("svg", attributes);
  const redraw = () => {
    const width = drawing.getBoundingClientRect().width || 560, height = draw(width);
    set(drawing, { viewBox: `0 0 ${width} ${height}`, height });
  };
  return { drawing, redraw };
}

// ---- what is moved ----
// JupyterLab leaves the keys alone that are pressed on what has this mark, but for those that save or run
const MARK = "data-lm-suppress-shortcuts", OURS = { [MARK]: "true", "data-moved": "" };
window.addEventListener("keydown", event => {
  if (!event.target.closest?.(".course-instrument [data-moved]")) return;
  const labs = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey && event.key === "Enter";
  set(event.target, { [MARK]: labs ? null : "true" });
}, true);

// A slider. say(value): what it says; marks: {words: value} below it; move(value): called when it has been moved
function slider(label, { min, max, step = 1, hue = "ink", marks = {}, say, move }) {
  const input = html("input", { type: "range", min, max, step, "aria-label": label, ...OURS });
  const now = html("span", { class: "now" }), share = value => (between(value, min, max) - min) / (max - min);
  const below = Object.entries(marks).map(([words, value]) => html("span", { style: `--at: ${share(value)}` }, words));
  const field = html("label", { class: "field" }, html("span", { class: "name" }, html("span", {}, label), now), input);
  if (below.length) field.append(html("span", { class: "marks", "aria-hidden": "true" }, ...below));
  input.addEventListener("input", () => move(+input.value));
  const show = (value, idle = false) => {
    input.value = value;
    now.textContent = say(value);
    set(input, { "aria-valuetext": now.textContent });
    set(field, { style: `--at: ${share(value)}; --hue: ${paint(idle ? "track" : hue)}` });
    field.classList.toggle("idle", idle);
  };
  return { field, input, show };
}

function tick_box(label, move) {
  const input = html("input", { type: "checkbox", ...OURS });
  input.addEventListener("change", () => move(input.checked));
  const show = on => { input.checked = on; };
  return { field: html("label", { class: "switch" }, input, html("span", {}, label)), show };
}

// A row of buttons, one of which is chosen. take(n): called with the one that is pressed
function choices(labels, take) {
  const buttons = labels.map((label, n) => {
    const button = html("button", { type: "button", ...OURS }, label);
    button.addEventListener("click", () => take(n));
    return button;
  });
  const show = chosen => buttons.forEach((button, n) => set(button, { "aria-pressed": n === chosen }));
  return { field: html("div", { class: "questions" }, ...buttons), show };
}

// The look of what is filled to so many percent; 0 is paper
const filled = (hue, percent) => `fill: color-mix(in srgb, var(--${hue}) ${percent.toFixed(1)}%, var(--paper))`;

// A round mark that can be held
const knob = (colour, radius, hold) => svg("g", {}, circle("none", { r: hold, "pointer-events": "all" }),
  circle("paper", { r: radius, stroke: paint(colour), "stroke-width": radius / 2.2 }),
  circle("none", { class: "ring", r: 2 * radius }));

// What a pointer drags and keys move. grab(): where it is when it is held; drag(x, y): to there; keys: {name: act}
function handle(mark, label, { grab, drag, drop = () => {}, keys }) {
  set(mark, { class: "handle", tabindex: 0, role: "slider", "aria-label": label, ...OURS });
  const place = event => {
    const drawing = mark.ownerSVGElement, box = drawing.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top].map(x => x * drawing.viewBox.baseVal.width / box.width);
  };
  let off = null;  // from the pointer to what it holds
  const end = () => {
    if (off) drop();
    off = null;
  };
  mark.addEventListener("pointerdown", event => {
    if (event.button) return;
    event.preventDefault();
    mark.setPointerCapture(event.pointerId);
    mark.focus({ preventScroll: true });
    const at = place(event);
    off = grab().map((x, i) => x - at[i]);
  });
  mark.addEventListener("touchstart", event => event.preventDefault(), { passive: false });  // or the page scrolls
  mark.addEventListener("pointermove", event => { if (off) drag(...place(event).map((x, i) => x + off[i])); });
  for (const name of ["pointerup", "pointercancel"]) mark.addEventListener(name, end);
  mark.addEventListener("keydown", event => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key](event.shiftKey);
  });
}

// For a moment, bars move to their new places instead of jumping there
function glide(drawing) {
  drawing.classList.add("glide");
  setTimeout(() => drawing.classList.remove("glide"), 300);
}

// ---- places on a page ----
// What stands above the drawings: a name, what to do, a way back to the start; and the sentence that says what is seen
function frame(title, todo, again) {
  const button = html("button", { type: "button", ...OURS }, "start again"), says = html("span");
  button.addEventListener("click", again);
  const say = words => { if (says.textContent !== words) says.textContent = words; };
  return {
    head: [html("div", { class: "head" }, html("b", {}, title), button), html("p", { class: "todo" }, todo)],
    says: html("p", { class: "says", "aria-live": "polite" }, says), say,
  };
}

// Put the instruments of a name where their pictures are. build(given): {title, parts, draw}
function instrument(name, build) {
  for (const root of document.querySelectorAll(`.course-instrument[data-instrument="${name}"]:not([data-ready])`)) {
    const { title, parts, draw } = build(JSON.parse(root.dataset.given));
    const living = html("div", { class: "living", role: "group", "aria-label": title }, ...parts);
    root.querySelector("img").replaceWith(living);
    root.dataset.ready = "";
    let width = null;
    new ResizeObserver(([now]) => {
      if (now.contentRect.width === width) return;
      width = now.contentRect.width;
      draw();
    }).observe(living);
    draw();
  }
}
