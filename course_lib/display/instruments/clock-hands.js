// The rows of a table of positions as clock hands: they turn with the position, and a fixed angle leads k steps on.
const GUTTER = 62, NARROW = 640;  // pixels: room for names at the left; a sheet that is narrower has less

class Hands {
  constructor(table) {
    Object.assign(this, { table, n: table.length, d: table[0].length });
    this.pairs = this.d / 2;
    this.most_k = Math.floor((this.n - 1) / 2);
    this.last = this.n - 1 - this.most_k;  // from every position there is a row for every k
    this.rates = range(this.pairs).map(i => 10000 ** (-i / this.pairs));  // radians for each step
    this.start();
  }

  start() { Object.assign(this, { position: Math.min(6, this.last), k: Math.min(3, this.most_k) }); }

  hand(row, i) { return this.table[row].slice(2 * i, 2 * i + 2); }  // sine and cosine: to the right, and up
  like(position, k) { return dot(this.table[position], this.table[position + k]); }
  everywhere(k) { return range(this.last + 1).map(position => this.like(position, k)); }
}

// ---- a clock for each pair of columns ----
const angle_of = x => number(x, x === 0 || x >= 9.95 ? 0 : x >= 0.95 ? 1 : x >= 0.095 ? 2 : 3);

function clocks(hands) {
  const faces = range(hands.pairs).map(() => ({
    rim: circle("none", { stroke: paint("track"), "stroke-width": 1.2 }), hours: range(12).map(() => line("track")),
    wedge: path("step", { opacity: 0.16 }), pin: circle("ink", { r: 4 }), now: line("ink", { class: "hand" }),
    later: line("step", { class: "hand pale" }), tip: circle("step", { r: 3.5 }), degrees: "",
    rate: text("small soft middle"), angle: text("small middle step"), turns: text("small soft middle"),
  }));
  const made = sheet({ role: "img" }, draw);
  made.drawing.append(...faces.flatMap(f =>
    [f.rim, ...f.hours, f.wedge, f.later, f.tip, f.now, f.pin, f.rate, f.angle, f.turns]));

  function draw(wide) {
    const left = wide < NARROW ? 0 : GUTTER, across = wide < NARROW ? Math.min(hands.pairs, 4) : hands.pairs;
    const cell = (wide - left) / across, R = Math.min(cell * 0.42, 46), high = 2 * R + 66;
    faces.forEach((face, i) => {
      const x = left + (i % across + 0.5) * cell, y = Math.floor(i / across) * high + 24 + R;
      draw_face(face, i, x, y, R, cell > 110 || i === 0);
    });
    set(made.drawing, { "aria-label": `${hands.pairs} clock faces at position ${hands.position}. In ${hands.k} steps ` +
      `their hands turn by ${faces.map(f => f.degrees).join(", ")}` });
    return Math.ceil(hands.pairs / across) * high;
  }

  function draw_face(f, i, x, y, R, named) {
    const { position, k } = hands, now = hands.hand(position, i), later = hands.hand(position + k, i);
    const at = ([right, up], share) => [x + R * share * right, y - R * share * up];
    const way = angle => [Math.sin(angle), Math.cos(angle)];
    set(f.rim, { cx: x, cy: y, r: R });
    set(f.pin, { cx: x, cy: y });
    f.hours.forEach((mark, hour) =>
      line_at(mark, ...at(way(hour * Math.PI / 6), 0.97), ...at(way(hour * Math.PI / 6), hour % 3 ? 0.92 : 0.85)));
    const from = Math.atan2(...now), full = 2 * Math.PI, turned = (Math.atan2(...later) - from + full) % full;
    const arc = [R * 0.8, R * 0.8, 0, turned > Math.PI ? 1 : 0, 1, ...at(way(from + turned), 0.8)].join(" ");
    const some = turned > 0.002 && turned < full - 0.002;
    set(f.wedge, { d: some ? `M${x} ${y}L${at(way(from), 0.8).join(" ")}A${arc}Z` : "" });
    line_at(f.now, x, y, ...at(now, 0.8));
    line_at(f.later, x, y, ...at(later, 0.8));
    const [cx, cy] = at(later, 0.8), turns = Math.round((k * hands.rates[i] - turned) / full);
    set(f.tip, { cx, cy });
    f.degrees = `${angle_of(turned > full - 1e-4 ? 0 : turned * 360 / full)}°`;
    text_at(f.rate, x, y - R - 9, (named ? "ω = " : "") + +hands.rates[i].toPrecision(3));
    text_at(f.angle, x, y + R + 18, (named ? `${k} ω = ` : "") + f.degrees);
    text_at(f.turns, x, y + R + 34, turns > 0 ? `+ ${turns} turn${turns > 1 ? "s" : ""}` : "");
  }
  return made;
}

// ---- the table, and two lit rows ----
const HEAD = 18, STRIP = 18;
const hue = (x, full) => {
  const share = full * Math.min(Math.abs(x), 1);
  return { style: filled(x < 0 ? "minus" : "plus", share) };
};

function heat_map(hands, changed) {
  const { table, n, d } = hands, row = between(Math.floor(200 / n), 3, 10);
  const heads = range(d).map(column => text("small soft middle", column % 2 ? "cos" : "sin"));
  const cells = table.map(values => values.map(x => rect("paper", { ...hue(x, 80), "shape-rendering": "crispEdges" })));
  const gaps = range(hands.pairs).map(() => line("paper", { "stroke-width": 3 }));
  const [later, now] = ["step", "ink"].map(colour => ({
    cells: range(d).map(() => rect("paper")), numbers: range(d).map(() => text("small middle")),
    frame: outline(colour, { "stroke-width": 2.5, rx: 3 }), name: text(`small end ${colour}`),
  }));
  const made = sheet({ role: "img", style: "cursor: pointer" }, draw);
  made.drawing.append(...heads, ...cells.flat(), ...gaps,
    ...[later, now].flatMap(lit => [...lit.cells, ...lit.numbers, lit.frame, lit.name]));
  made.drawing.addEventListener("click", event => {
    const box = made.drawing.getBoundingClientRect();
    hands.position = between(Math.floor((event.clientY - box.top - HEAD) / row), 0, hands.last);
    changed();
  });

  function draw(wide) {
    const { position, k } = hands, left = wide < NARROW ? 44 : GUTTER, cell = (wide - left) / d;
    const x = column => left + column * cell, middle = at => HEAD + (at + 0.5) * row;
    heads.forEach((words, column) => shown(text_at(words, x(column + 0.5), 11), cell > 32));
    cells.forEach((line, at) => line.forEach((square, column) =>
      box_at(square, x(column), HEAD + at * row, cell + 0.4, row)));
    gaps.forEach((gap, i) => shown(line_at(gap, x(2 * i), HEAD, x(2 * i), HEAD + n * row), i > 0));
    const apart = k ? Math.max(STRIP + 3 - k * row, 0) : 0;  // near rows make room for each other
    draw_strip(later, position + k, middle(position + k) + apart / 2, k > 0);
    draw_strip(now, position, middle(position) - apart / 2, true);
    set(made.drawing, { "aria-label": `The table of ${n} positions and ${d} columns. Row ${position}: ` +
      table[position].map(value => number(value)).join(", ") });
    return HEAD + n * row;

    function draw_strip(lit, at, y, there) {
      lit.cells.forEach((square, column) =>
        shown(set(box_at(square, x(column), y - STRIP / 2, cell + 0.4, STRIP), hue(table[at][column], 30)), there));
      lit.numbers.forEach((words, column) =>
        shown(text_at(words, x(column + 0.5), y + 4.5, number(table[at][column])), there && cell > 42));
      shown(box_at(lit.frame, left - 1, y - STRIP / 2 - 1, wide - left + 2, STRIP + 2), there);
      shown(text_at(lit.name, left - 8, y + 4.5, wide < NARROW ? at : `row ${at}`), there);
    }
  }
  return made;
}

// ---- the dot product over k ----
const TOP = 34, HIGH = 110;

function likeness(hands) {
  const ks = range(hands.most_k + 1), all = ks.map(k => hands.everywhere(k));
  const low = Math.min(0, ...all.flat()), high = Math.max(...all.flat());
  const band = polygon("step", { opacity: 0.18 });  // what it is at all positions: a line where they agree
  const curve = svg("polyline", { fill: "none", stroke: paint("ink"), "stroke-width": 2 });
  const levels = range(5).map(() => [line("line"), text("small soft end")]);
  const steps = range(11).map(() => text("small soft middle"));
  const here = line("step", { "stroke-dasharray": "2 4" });
  const spot = circle("step", { r: 6 }), value = text("on-paper step");
  const made = sheet({ role: "img" }, draw);
  made.drawing.append(text("title", "PE(pos) · PE(pos + k) for every k", { y: 14 }), ...levels.flat(), band, here,
    curve, spot, value, ...steps);

  function draw(wide) {
    const { position, k } = hands, left = wide < NARROW ? 32 : GUTTER, right = wide - 14;
    const x = k => left + k / hands.most_k * (right - left), y = like => TOP + HIGH * (high - like) / (high - low || 1);
    levels.forEach(([level, words], i) => {
      const at = (i - 2) * hands.pairs / 2, there = at >= low - 0.01 && at <= high + 0.01;
      shown(line_at(level, left, y(at), right, y(at)), there);
      shown(text_at(words, left - 8, y(at) + 4, number(at, at % 1 ? 1 : 0)), there);
    });
    steps.forEach((words, i) => {
      const at = i * step_of(hands.most_k, 6);
      shown(text_at(words, x(at), TOP + HIGH + 18, i ? at : "k = 0"), at <= hands.most_k);
    });
    const mine = ks.map(k => hands.like(position, k)), flip = x(k) > right - 80;
    set(curve, { points: mine.map((like, k) => [x(k), y(like)]).join(" ") });
    set(band, { points: [...all.map((of, k) => [x(k), y(Math.max(...of)) - 1]),
      ...all.map((of, k) => [x(k), y(Math.min(...of)) + 1]).reverse()].join(" ") });
    line_at(here, x(k), TOP, x(k), TOP + HIGH);
    set(spot, { cx: x(k), cy: y(mine[k]) });
    set(text_at(value, x(k) + (flip ? -12 : 12), Math.max(y(mine[k]) - 8, TOP + 6), number(mine[k])),
      { "text-anchor": flip ? "end" : "start" });
    set(made.drawing, { "aria-label":
      `The dot product over k: ${number(mine[0])} at k = 0, ${number(mine[k])} at k = ${k}` });
    return TOP + HIGH + 24;
  }
  return made;
}

function sentence(hands) {
  const { position, k } = hands, all = hands.everywhere(k), low = Math.min(...all), high = Math.max(...all);
  const now = number(hands.like(position, k)), steps = k === 1 ? "one step" : `${k} steps`;
  if (k === 0 && high - low < 0.005) return `PE(${position}) · PE(${position}) = ${now}, as at every position.`;
  return `PE(${position}) · PE(${position + k}) = ${now}. ` + (high - low < 0.005
    ? `Every position has ${now} for k = ${k}: in ${steps} each hand turns by its own fixed angle, wherever it starts.`
    : `It depends on the position: for k = ${k} it goes from ${number(low)} to ${number(high)}.`);
}

instrument("clock-hands", ({ table }) => {
  const title = "A position is a row of clock hands", hands = new Hands(table);
  const drawings = [clocks(hands), heat_map(hands, draw), likeness(hands)];
  const framed = frame(title, "Turn the hands by the position. The thin hands are k steps further on.", () => {
    hands.start();
    draw();
  });
  const moving = slider("position", {
    min: 0, max: hands.last, say: at => `pos = ${at}`, move: at => { hands.position = at; draw(); },
  });
  const reaching = slider("steps further on", {
    min: 0, max: hands.most_k, hue: "step", say: k => `k = ${k}`, move: k => { hands.k = k; draw(); },
  });

  function draw() {
    moving.show(hands.position);
    reaching.show(hands.k);
    for (const drawing of drawings) drawing.redraw();
    framed.say(sentence(hands));
  }

  const parts = [...framed.head, html("div", { class: "controls" }, moving.field, reaching.field), framed.says,
    ...drawings.map(({ drawing }) => html("div", { class: "clock-part" }, drawing))];
  return { title, parts, draw };
});
