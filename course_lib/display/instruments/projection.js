// A sentence becomes queries, keys and values, and one word asks all words, step by step.
// pixels: above the matrices; names over a table's columns; between two tables; the words; scores and weights
const TOP = 20, HEAD = 52, GAP = 26, NAME = 96, SIDE = 190;
const STEPS = ["1 project", "2 compare", "3 weigh", "4 mix"];

const times = (rows, W) => rows.map(row => W[0].map((_, j) => sum(row.map((a, i) => a * W[i][j]))));
const short = x => number(x).replace(/\.?0+$/, "");

class Projection {
  constructor(given) {
    Object.assign(this, given);
    this.made = ["W_q", "W_k", "W_v"].map(W => times(this.x, this[W]));  // queries, keys, values
    this.start();
  }

  start() { Object.assign(this, { at: this.asks, step: 0, seen: null }); }
  ask(at) { this.at = between(at, 0, this.names.length - 1); }

  get query() { return this.made[0][this.at]; }
  get products() { return this.made[1].map(key => dot(this.query, key)); }
  get scores() { return this.products.map(product => product / Math.sqrt(this.query.length)); }
  get weights() { return softmax(this.scores); }
  get output() { return this.handed.map((_, j) => dot(this.weights, this.made[2].map(value => value[j]))); }
  get met() { return this.scores.indexOf(Math.max(...this.scores)); }
}

// A table of numbers, each square as full as its number is large; show(values, left, top, cell)
function table(rows, columns, hue, limit) {
  const cells = range(rows).map(() => range(columns).map(() => [rect("paper", { rx: 2 }), text("middle")]));
  const show = (values, left, top, cell) => cells.forEach((row, i) => row.forEach(([box, mark], j) => {
    const full = Math.min(1, Math.abs(values[i][j]) / limit);
    set(box_at(box, left + j * cell + 1, top + i * cell + 1, cell - 2, cell - 2), { style: filled(hue, 6 + 76 * full) });
    set(text_at(mark, left + (j + 0.5) * cell, top + (i + 0.5) * cell + 5, short(values[i][j])),
      { style: `fill: var(--${full > 0.5 ? "paper" : "ink"}); font-size: ${between(cell * 0.46, 10, 13)}px` });
  }));
  return { parts: cells.flat(2), show };
}

function drawing_of(p, changed) {
  const N = p.names.length, D = p.features.length, tall = rows => Math.max(...rows.flat().map(Math.abs), 1e-6);
  const x = table(N, D, "ink", tall(p.x)), x_title = text("title", "x"), x_names = p.features.map(f => text("small soft", f));
  const lines = p.features.map(feature => text("small soft end", feature));
  const labels = p.names.map(name => text("end", name));
  const parts = [["W_q", "query", p.asked], ["W_k", "key", p.asked], ["W_v", "value", p.handed]].map(([W, hue, columns], n) => ({
    W: p[W], made: p.made[n], columns, above: table(D, columns.length, "ink", tall(p[W])),
    below: table(N, columns.length, hue, tall(p.made[n])), title: text("title", W), name: text(`title ${hue}`, hue),
    names: columns.map(c => text("small soft", c)), frame: outline(hue, { rx: 4, "stroke-width": 2.5 }),
  }));
  const rows = p.names.map(() => ({ score: text("end"), bar: rect("weight", { rx: 1.5 }), whole: outline("line"),
    weight: text("small") }));
  const heads = [text("title soft end", "score"), text("title weight", "weight")];
  const out = table(1, p.handed.length, "ink", tall(p.made[2])), out_name = text("strong end", "output");
  const place = outline("query", { rx: 4, "stroke-width": 2.5 }), ring = outline("none", { rx: 7, class: "ring" });
  const hold = rect("none", { "pointer-events": "all" }), mark = svg("g", {}, hold, place, ring);
  const made = sheet({ role: "group", "aria-label": "The sentence x, the three matrices, and what they make of it" }, draw);
  made.drawing.append(x_title, ...x_names, ...lines, ...x.parts, ...labels, ...parts.flatMap(part => [part.title, part.name,
    ...part.names, ...part.above.parts, ...part.below.parts, part.frame]), ...heads,
    ...rows.flatMap(row => [row.score, row.whole, row.bar, row.weight]), ...out.parts, out_name, mark);

  let cell = 1, first = 0, spots = [];  // of the tables below: left edges
  const go = at => { p.seen = null; p.ask(at); changed(); };
  handle(mark, "the word that asks", {
    grab: () => [0, first + (p.at + 0.5) * cell], drag: (_, y) => go(Math.floor((y - first) / cell)),
    keys: { ArrowUp: () => go(p.at - 1), ArrowDown: () => go(p.at + 1), Home: () => go(0), End: () => go(N - 1) },
  });
  for (const kind of ["pointermove", "pointerdown"]) made.drawing.addEventListener(kind, event => {
    const box = made.drawing.getBoundingClientRect(), row = Math.floor((event.clientY - box.top - first) / cell);
    const part = spots.findIndex((left, n) => event.clientX - box.left >= left
      && event.clientX - box.left < left + parts[n].columns.length * cell);
    const column = part < 0 ? 0 : Math.floor((event.clientX - box.left - spots[part]) / cell);
    const seen = part >= 0 && row >= 0 && row < N ? { part, row, column } : null;
    if (JSON.stringify(seen) === JSON.stringify(p.seen)) return;
    p.seen = seen;
    changed();
  });

  function draw(wide) {
    const { step, at, weights, scores, met, output, seen } = p, columns = sum(parts.map(part => part.columns.length));
    const top = TOP + HEAD;
    cell = between((wide - NAME - 3 * GAP - SIDE) / (D + columns), 12, 32);
    first = top + D * cell + HEAD;
    const name_at = (mark, left, y) => set(text_at(mark, 0, 0),
      { transform: `translate(${left + cell * 0.6},${y - 6}) rotate(-40)` });
    text_at(x_title, NAME, first - 38);
    x_names.forEach((mark, j) => name_at(mark, NAME + j * cell, first));
    x.show(p.x, NAME, first, cell);
    labels.forEach((mark, n) => {
      text_at(mark, NAME - 8, first + (n + 0.5) * cell + 5);
      mark.classList.toggle("strong", n === at);
    });
    let left = NAME + D * cell;
    lines.forEach((mark, i) => text_at(mark, left + GAP - 8, top + (i + 0.5) * cell + 4));
    spots = parts.map(part => { const here = left + GAP; left = here + part.columns.length * cell; return here; });
    parts.forEach((part, n) => {
      const here = spots[n], long = part.columns.length * cell;
      text_at(part.title, here, 14);
      text_at(part.name, here, first - 18);
      part.names.forEach((mark, j) => name_at(mark, here + j * cell, top));
      part.above.show(part.W, here, top, cell);
      part.below.show(part.made, here, first, cell);
      const row = step === 0 ? at : [at, met, met][n];
      shown(box_at(part.frame, here - 2, first + row * cell - 2, long + 4, cell + 4), n === 0 || step === 0 || step > n);
      if (seen?.part === n) shown(box_at(part.frame, here + seen.column * cell - 2, first + seen.row * cell - 2, cell + 4,
        cell + 4), true);
    });
    const edge = left + 52, full = Math.max(8, wide - edge - 52);
    shown(text_at(heads[0], edge - 6, first - 8), step >= 1);
    shown(text_at(heads[1], edge + 4, first - 8), step >= 2);
    rows.forEach((row, n) => {
      const y = first + (n + 0.5) * cell;
      shown(text_at(row.score, edge - 6, y + 5, short(scores[n])), step >= 1);
      shown(box_at(row.whole, edge + 4, y - 7, full, 14), step >= 2);
      shown(box_at(row.bar, edge + 4, y - 7, full * weights[n], 14), step >= 2);
      shown(text_at(row.weight, edge + full + 8, y + 5, number(weights[n])), step >= 2);
    });
    const bottom = first + N * cell + 22;
    out.show([output], spots[2], bottom, cell);
    for (const part of [...out.parts, out_name]) shown(part, step >= 3);
    text_at(out_name, spots[2] - 8, bottom + cell / 2 + 5);
    for (const [frame, more] of [[place, 2], [ring, 6]])
      box_at(frame, NAME - more, first + at * cell - more, D * cell + 2 * more, cell + 2 * more);
    box_at(hold, 0, first + at * cell, NAME + D * cell, cell);
    set(mark, { "aria-valuemin": 1, "aria-valuemax": N, "aria-valuenow": at + 1, "aria-valuetext": p.names[at] });
    return bottom + cell + 8;
  }
  return made;
}

// The product of two rows, feature by feature, as far as it is not 0
const added = (a, b) => a.map((u, i) => [u, b[i]]).filter(([u, v]) => u && v)
  .map(([u, v]) => `${short(u)} · ${short(v)}`).join(" + ") || "0";
const named = (numbers, names) => numbers.map((q, j) => q ? `${names[j]} ${short(q)}` : "").filter(Boolean).join(", ")
  || "nothing";

function sentence(p) {
  const { names, at, step, seen, met, query, made, products, scores, weights, output, asked, handed } = p;
  const word = `“${names[at]}”`, other = `“${names[met]}”`;
  if (seen) {
    const [W, kind, meant] = [["W_q", "query", asked], ["W_k", "key", asked], ["W_v", "value", handed]][seen.part];
    const row = p.x[seen.row], column = p[W].map(line => line[seen.column]);
    return `“${names[seen.row]}”, ${meant[seen.column]} of its ${kind}: its row of x with this column of ${W} is ` +
      `${added(row, column)} = ${short(made[seen.part][seen.row][seen.column])}.`;
  }
  if (step === 0) return `The row of ${word} in x, times each matrix: its query asks for ${named(query, asked)}; its key ` +
    `says ${named(made[1][at], asked)}; its value hands over ${named(made[2][at], handed)}.`;
  if (step === 1) return `The query of ${word} meets each key. With ${other}: ${added(query, made[1][met])} = ` +
    `${short(products[met])}, and divided by √${query.length} that is ${short(scores[met])}.`;
  if (step === 2) return `A softmax makes weights of the ${names.length} scores. ${other} gets ${number(weights[met])}.`;
  return `Each value, as much of it as its weight says, added up: ${word} receives ${output.map((o, j) =>
    `${handed[j]} ${number(o)}`).join(", ")}.`;
}

instrument("projection", given => {
  const title = "One word asks, step by step", projection = new Projection(given), drawn = drawing_of(projection, draw);
  const framed = frame(title, "Choose a step. Drag the frame to another word, or focus it and press the arrow keys. Point " +
    "at a number of a query, key or value to see how it is made.", () => {
    projection.start();
    draw();
  });
  const steps = choices(STEPS, n => {
    Object.assign(projection, { step: n, seen: null });
    draw();
  });

  function draw() {
    steps.show(projection.step);
    drawn.redraw();
    framed.say(sentence(projection));
  }

  const parts = [...framed.head, steps.field, framed.says, html("div", { class: "wide" }, drawn.drawing)];
  return { title, parts, draw };
});
