// One query among keys in the plane: turn it, and see scores, weights and the mixture of the values follow.
const WIDEST = 512;

class Attention {
  constructor({ names, keys, values, query, axes, widths }) {
    Object.assign(this, { names, keys, values: values ?? keys, own_values: values !== null, given: query, axes });
    this.N = names.length;
    this.room = Math.max((widths ? 1.3 : 2.6) * longest(keys), 1.1 * Math.hypot(...query));  // how long it can get
    this.start();
  }

  start() { Object.assign(this, { query: this.given, width: 2, divided: false, looked_at: null }); }

  turn(to) {
    const short = Math.min(1, this.room / (Math.hypot(...to) || 1));
    this.query = to.map(x => short * x);
  }

  get length() { return Math.hypot(...this.query); }

  stretch(to) { this.turn(this.query.map(x => x * to / (this.length || 1))); }

  // Dot products of random vectors of width d are √(d/2) times as large as those of width 2
  get growth() { return Math.sqrt(this.width / 2); }
  get factor() { return this.growth / (this.divided ? Math.sqrt(this.width) : 1); }
  get scores() { return this.keys.map(key => dot(this.query, key) * this.factor); }
  get weights() { return softmax(this.scores); }
  get output() { return [0, 1].map(i => dot(this.weights, this.values.map(value => value[i]))); }
  get order() { const { weights } = this; return range(this.N).sort((a, b) => weights[b] - weights[a]); }
  get framed() { return this.looked_at ?? this.order[0]; }  // the key whose sum is written out
}

const longest = vectors => Math.max(...vectors.map(v => Math.hypot(...v)));

// ---- drawing in a plane ----
const HEADING = 30;

// A sheet with axes through its middle, and draw(plane) draws in it: plane.at(vector) is a place, plane.back(x, y) a
// vector; plane.box is where the plane ends, plane.words where something is written already
function plane(reach, axes, attributes, title, parts, draw) {
  const lines = range(5).map(() => [line("line"), line("line")]), [along, up] = [line("track"), line("track")];
  const units = [text("small soft middle on-paper"), text("small soft end on-paper")];
  const names = [text("small soft end on-paper", axes ? `${axes[0]} →` : ""),
    text("small soft on-paper", axes ? `↑ ${axes[1]}` : "")];
  const step = step_of(reach, 1.2), it = {};
  const made = sheet(attributes, wide => {
    const side = Math.min(wide, 400), unit = side / 2 / reach, [x0, y0] = [wide / 2, HEADING + side / 2];
    it.at = ([x, y]) => [x0 + unit * x, y0 - unit * y];
    it.back = (x, y) => [(x - x0) / unit, (y0 - y) / unit];
    it.box = [x0 - side / 2, HEADING, x0 + side / 2, HEADING + side];
    const [left, top, right, bottom] = it.box;
    lines.forEach(([upright, level], n) => {
      const [x, y] = it.at([(n - 2) * step, (n - 2) * step]), there = Math.abs((n - 2) * step) <= reach;
      shown(line_at(upright, x, top, x, bottom), there);
      shown(line_at(level, left, y, right, y), there);
    });
    line_at(along, left, y0, right, y0);
    line_at(up, x0, top, x0, bottom);
    text_at(units[0], x0 + unit * step, y0 + 16, number(step, step % 1 ? 1 : 0));
    text_at(units[1], x0 - 7, y0 - unit * step + 4, number(step, step % 1 ? 1 : 0));
    text_at(names[0], right - 4, y0 - 7);
    text_at(names[1], x0 + 7, top + 12);
    const long = names.map(name => 7 * name.textContent.length);
    const one = unit * step;
    it.words = [[x0 - 18, y0 - one - 8, x0 - 6, y0 - one + 8], [x0 + one - 6, y0 + 6, x0 + one + 6, y0 + 18],
      [x0 + 7, top, x0 + 7 + long[1], top + 16], [right - long[0], y0 - 18, right, y0 - 4]];
    draw(it);
    return HEADING + side + 4;
  });
  made.drawing.append(...lines.flat(), along, up, ...units, ...names, ...parts, text("title", title, { y: 14 }));
  return { ...made, plane: it };
}

function arrow(colour) {
  const shaft = line(colour), head = polygon(colour);
  const to = ([x0, y0], [x, y], thick) => {
    const long = Math.hypot(x - x0, y - y0), size = Math.min(7 + 1.5 * thick, long);
    const [u, v] = long ? [(x - x0) / long, (y - y0) / long] : [0, 0], [bx, by] = [x - u * size, y - v * size];
    set(line_at(shaft, x0, y0, bx, by), { "stroke-width": thick });
    const corners = [1, -1].map(side => [bx - side * v * size / 2, by + side * u * size / 2]);
    set(head, { points: [[x, y], ...corners].join(" ") });
  };
  return { mark: svg("g", {}, shaft, head), to };
}

// Each label to that side of its tip where it covers the fewest others and the fewest lines; it stays if it can
function place(labels, lines, { box, words }) {
  const taken = [...words];
  for (const { mark, tip, words, out } of labels) {
    const long = 7.6 * words.length + 4;
    const spots = range(16).map(n => {
      const [u, v] = [Math.cos(n * Math.PI / 8), Math.sin(n * Math.PI / 8)];
      const x = tip[0] + u * (16 + long / 2 * Math.abs(u)), y = tip[1] + v * 18;
      const area = [x - long / 2, y - 9, x + long / 2, y + 9];
      const cost = sum(taken.map(other => shared(area, other))) + 60 * sum(lines.map(ends => crossed(area, ends)))
        + 40 * beyond(area, box) - 30 * (u * out[0] + v * out[1]) - (mark.spot === n ? 25 : 0);
      return { n, x, y, area, cost };
    });
    const best = spots.reduce((a, b) => b.cost < a.cost ? b : a);
    mark.spot = best.n;
    taken.push(best.area);
    text_at(mark, best.x, best.y + 4.5, words);
  }
}

const shared = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) *
  Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
const beyond = (a, box) => sum([box[0] - a[0], box[1] - a[1], a[2] - box[2], a[3] - box[3]].map(x => Math.max(x, 0)));
const crossed = (a, [[x0, y0], [x1, y1]]) => range(13).filter(k => {
  const x = x0 + (x1 - x0) * k / 12, y = y0 + (y1 - y0) * k / 12;
  return x > a[0] && x < a[2] && y > a[1] && y < a[3];
}).length;

function outwards([x, y]) {
  const long = Math.hypot(x, y) || 1;
  return [x / long, -y / long];
}

// ---- the query among the keys ----
function asking(attention, changed) {
  const { names, keys, axes, room } = attention;
  const arrows = keys.map(() => arrow("key")), labels = keys.map(() => text("key middle on-paper"));
  const asks = arrow("query"), query_label = text("query strong middle on-paper"), tip = knob("query", 6.5, 22);
  const shadow = line("query", { "stroke-width": 9, opacity: 0.22, "stroke-linecap": "round" });
  const fall = line("key", { "stroke-width": 1.5, "stroke-dasharray": "2 4" });
  const made = plane(room, axes, { role: "group", "aria-label": "The query among its keys" }, "query and keys",
    [shadow, fall, ...arrows.map(a => a.mark), asks.mark, ...labels, query_label, tip], draw);

  function draw(plane) {
    const { at } = plane, { query, framed } = attention, origin = at([0, 0]), to = at(query), key = keys[framed];
    const along = dot(query, key) / (dot(query, query) || 1), foot = at(query.map(x => along * x));
    line_at(shadow, ...origin, ...foot);
    line_at(fall, ...foot, ...at(key));
    keys.forEach((key, n) => {
      arrows[n].to(origin, at(key), n === framed ? 3 : 2);
      labels[n].classList.toggle("strong", n === framed);
    });
    asks.to(origin, to, 3.5);
    const [right, up] = query.map(x => number(x));
    set(tip, { transform: `translate(${to})`, "aria-valuemin": -180, "aria-valuemax": 180,
      "aria-valuenow": Math.round(Math.atan2(query[1], query[0]) * 180 / Math.PI),
      "aria-valuetext": axes ? `${axes[0]} ${right}, ${axes[1]} ${up}` : `${right} to the right, ${up} up` });
    place([...keys.map((key, n) => ({ mark: labels[n], tip: at(key), words: names[n], out: outwards(key) })),
      { mark: query_label, tip: to, words: "query", out: outwards(query) }],
    [query, ...keys].map(v => [origin, at(v)]), plane);
  }

  const turn = to => { attention.turn(to); changed(); };
  const shift = (x, y) => fine => turn(attention.query.map((q, i) => q + (fine ? 0.02 : 0.1) * [x, y][i]));
  const stretch = by => () => turn(attention.query.map(x => by * x));
  handle(tip, "query", {
    grab: () => made.plane.at(attention.query), drag: (x, y) => turn(made.plane.back(x, y)),
    keys: { ArrowLeft: shift(-1, 0), ArrowRight: shift(1, 0), ArrowUp: shift(0, 1), ArrowDown: shift(0, -1),
      PageUp: stretch(1.1), PageDown: stretch(1 / 1.1), Home: () => turn(attention.given) },
  });
  return made;
}

// ---- scores and weights, a row for each key ----
const ROW = 50, FIRST = 44;

function rows(attention, changed) {
  const { N, names, keys, room } = attention, bottom = FIRST + N * ROW;
  const lines = names.map((name, n) => ({
    y: FIRST + n * ROW, frame: rect("lit", { rx: 6 }), name: text("key", name),
    score: rect("track", { rx: 1.5 }), zero: line("soft"), says: text("small soft end"),
    weight: rect("weight", { rx: 1.5 }), whole: outline("line"), share: text("small end"),
  }));
  const ticks = range(5).map(() => text("small soft middle"));
  const heading = text("title weight", "weights"), none = text("small soft", "0"), one = text("small soft end", "1");
  const made = sheet({ role: "img" }, draw);
  made.drawing.append(...lines.map(l => l.frame), text("title soft", "scores", { x: 8, y: 14 }), heading,
    ...ticks, none, one, ...lines.flatMap(l => [l.name, l.score, l.zero, l.says, l.whole, l.weight, l.share]));
  const look = n => {
    attention.looked_at = n >= 0 && n < N ? n : null;
    changed();
  };
  for (const seen of ["pointermove", "pointerdown"]) made.drawing.addEventListener(seen, event =>
    look(Math.floor((event.clientY - made.drawing.getBoundingClientRect().top - FIRST + 4) / ROW)));
  made.drawing.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") look(-1); });

  function draw(wide) {
    const { scores, weights, factor, framed } = attention;
    const half = (wide - 24) / 2, left = half + 24, full = wide - left - 8;
    const reach = longest(keys) * room * factor * (Math.sqrt(WIDEST / 2) / factor) ** 0.08;  // of the longest query
    const middle = 4 + half / 2, x = score => middle + between(score / reach, -1, 1) * (half / 2 - 8);
    const step = step_of(reach, wide < 420 ? 1.2 : 2.2);
    ticks.forEach((tick, n) => {
      const value = (n - 2) * step;
      shown(text_at(tick, x(value), bottom + 16, number(value, step < 1 ? 1 : 0)), Math.abs(value) <= reach);
    });
    text_at(heading, left, 14);
    text_at(none, left, bottom + 16);
    text_at(one, left + full, bottom + 16);
    lines.forEach((l, n) => {
      shown(box_at(l.frame, 0, l.y - 4, wide, ROW - 4), n === framed);
      text_at(l.name, 8, l.y + 12);
      text_at(l.says, half, l.y + 12, roughly(scores[n]));
      text_at(l.share, left + full, l.y + 12, number(weights[n]));
      line_at(l.zero, middle, l.y + 16, middle, l.y + 36);
      box_at(l.score, Math.min(middle, x(scores[n])), l.y + 19, Math.abs(x(scores[n]) - middle), 14);
      box_at(l.whole, left, l.y + 19, full, 14);
      box_at(l.weight, left, l.y + 19, full * weights[n], 14);
    });
    set(made.drawing, { "aria-label": names.map((name, n) =>
      `${name}: score ${roughly(scores[n])}, weight ${number(weights[n])}`).join("; ") });
    return bottom + 22;
  }
  return made;
}

// The score of one key, written out
function sum_of(attention) {
  const { names, keys, query, width, divided, growth, factor, framed } = attention, plain = dot(query, keys[framed]);
  const short = x => number(x).replace(/\.?0+$/, "");
  const products = query.map((x, i) => `${short(x)} × ${short(keys[framed][i])}`).join(" + ");
  const grown = width > 2 ? ` × ${short(growth)}` : "";
  const then = grown + (divided ? ` ÷ ${short(Math.sqrt(width))}` : "");
  const scaled = then ? [html("br"), `${number(plain)}${then} = ${number(plain * factor)}`] : [];
  return [html("b", {}, names[framed]), `: ${products} = ${number(plain)}`, ...scaled];
}

// ---- the values, mixed ----
function mixing(attention) {
  const { names, values, own_values } = attention;
  const flows = values.map(() => line("value", { "stroke-linecap": "round" }));
  const dots = values.map(() => circle("value", { r: 4.5 })), labels = values.map(() => text("value middle on-paper"));
  const hull = polygon("value", { opacity: 0.09 }), result = arrow("ink"), output = text("strong middle on-paper");
  const made = plane(1.3 * longest(values), own_values ? null : attention.axes, { role: "img" },
    `${own_values ? "values" : "inputs"}, and their mixture`,
    [hull, ...flows, ...dots, result.mark, ...labels, output], draw);

  function draw(plane) {
    const { at } = plane, { weights, output: out } = attention, origin = at([0, 0]), to = at(out);
    set(hull, { points: corners_of(values.map(at)).join(" ") });
    values.forEach((value, n) => {
      set(line_at(flows[n], ...at(value), ...to),
        { "stroke-width": 0.8 + 11 * weights[n], opacity: 0.35 + 0.45 * weights[n] });
      set(dots[n], { cx: at(value)[0], cy: at(value)[1] });
    });
    result.to(origin, to, 3.5);
    place([...values.map((value, n) => ({ mark: labels[n], tip: at(value), words: names[n], out: outwards(value) })),
      { mark: output, tip: to, words: "output", out: outwards(out) }],
    [[origin, to], ...values.map(value => [at(value), to])], plane);
    set(made.drawing, { "aria-label": `The output is ${number(out[0])}, ${number(out[1])}: ` +
      names.map((name, n) => `${number(weights[n])} of ${name}`).join(", ") });
  }
  return made;
}

// The corners that a band around all points would touch: no mixture lies beyond it
function corners_of(points) {
  const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const corners = [points.reduce((a, b) => b[0] < a[0] ? b : a)];
  while (corners.length <= points.length) {
    const last = corners.at(-1);
    const next = points.reduce((a, b) => a === last || turn(last, a, b) < 0 ? b : a, last);
    if (next === corners[0]) break;
    corners.push(next);
  }
  return corners;
}

function sentence({ names, weights, order, width, divided, growth, N }) {
  const [first, second] = order, low = weights[order[N - 1]];
  const why = width === 2 ? "" : divided ? "Divided by √d, the weights are the same at every width. "
    : `At width ${width} the scores are ${number(growth, 1)} times as large. `;
  if (weights[first] > 0.99) return `${why}Nearly all the weight goes to ${names[first]}, and the output is there.`;
  if (weights[first] - low < 0.1) return `${why}All count nearly alike, and the output is near the middle.`;
  return `${why}Most weight goes to ${names[first]}, ${number(weights[first])}, then to ${names[second]}, ` +
    `${number(weights[second])}. The output lies among them.`;
}

instrument("query-among-keys", given => {
  const title = "One query meets its keys", attention = new Attention(given);
  const asks = asking(attention, draw), table = rows(attention, draw), mixes = mixing(attention);
  const written = html("p", { class: "note sums" });
  const framed = frame(title, "Drag the tip of the query, or focus it and press the arrow keys.", () => {
    attention.start();
    draw();
  });
  const widening = slider("width d of query and keys", {
    min: 1, max: Math.log2(WIDEST), marks: { "d = 2": 1, 8: 3, 32: 5, 128: 7, 512: 9 },
    say: () => `d = ${attention.width}`, move: power => { attention.width = 2 ** power; draw(); },
  });
  const stretching = slider("length of the query", {
    min: 0.1, max: attention.room, step: 0.05, hue: "query", say: () => number(attention.length),
    move: length => { attention.stretch(length); draw(); },
  });
  const dividing = tick_box("divide the scores by √d", on => {
    attention.divided = on;
    glide(table.drawing);
    draw();
  });

  function draw() {
    widening.show(Math.log2(attention.width));
    dividing.show(attention.divided);
    stretching.show(attention.length);
    for (const part of [asks, table, mixes]) part.redraw();
    written.replaceChildren(...sum_of(attention));
    framed.say(sentence(attention));
  }

  const thick = html("p", { class: "note" }, "A line is as thick as the weight in it.");
  const exact = html("p", { class: "note" }, "The plane has d = 2, and there all numbers are exact. For a larger d " +
    "the directions stay as they are drawn, and all scores grow by √(d/2), as dot products of random vectors do.");
  const parts = [...framed.head, framed.says, html("div", { class: "query-parts" },
    html("div", { class: "asking" }, asks.drawing), html("div", { class: "table" }, table.drawing, written),
    html("div", { class: "mixing" }, mixes.drawing, thick)),
  ...given.widths
    ? [html("div", { class: "controls" }, widening.field, html("div", { class: "beside" }, dividing.field)), exact]
    : [html("div", { class: "controls" }, stretching.field)]];
  return { title, parts, draw };
});
