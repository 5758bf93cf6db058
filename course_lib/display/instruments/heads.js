// Heads: choose a word of a sentence, and see how much weight every head gives to each of its words.
const ROW = 36, SIDE = 62, WORDS = 78;  // pixels: a head, its name, the words above the columns

class Heads {
  constructor(given) {
    Object.assign(this, given);
    this.start();
  }

  start() { Object.assign(this, { at: this.asks, layer: 0 }); }
  ask(at) { this.at = between(at, 0, this.words.length - 1); }

  get name() { return this.layers[this.layer][0]; }
  get rows() { return this.layers[this.layer][1].map(head => head[this.at]); }
}

function drawing_of(heads, changed) {
  const N = heads.words.length, most = Math.max(...heads.layers.map(([, weights]) => weights.length));
  const names = heads.words.map(word => text("", word)), asks = text("small strong query", "asks");
  const places = range(N).map(() => rect("none", { rx: 3, stroke: paint("line"), "pointer-events": "all" }));
  const rows = range(most).map(h => ({
    name: text("small", `head ${h + 1}`),
    cells: range(N).map(() => [rect("paper", { rx: 3, stroke: paint("line") }), text("middle small")]),
  }));
  const dot = circle("query", { r: 6 }), ring = outline("none", { rx: 7, class: "ring" });
  const mark = svg("g", {}, rect("none", { "pointer-events": "all", width: 44, height: ROW }), dot, ring);
  const made = sheet({ role: "group", "aria-label": "The words, and below them where each head looks" }, draw);
  made.drawing.append(...names, asks, ...places, ...rows.flatMap(row => [row.name, ...row.cells.flat()]), mark);

  let cell = 1;
  const go = at => { heads.ask(at); changed(); };
  const under = x => Math.floor((x - SIDE) / cell);
  handle(mark, "the word that asks", {
    grab: () => [SIDE + (heads.at + 0.5) * cell, WORDS], drag: x => go(under(x)),
    keys: { ArrowLeft: () => go(heads.at - 1), ArrowRight: () => go(heads.at + 1), Home: () => go(0),
      End: () => go(N - 1) },
  });
  for (const seen of ["pointermove", "pointerdown"]) made.drawing.addEventListener(seen, event => {
    const box = made.drawing.getBoundingClientRect(), at = under(event.clientX - box.left);
    if (event.clientY - box.top < WORDS + ROW && at >= 0 && at < N) go(at);
  });

  function draw(wide) {
    cell = Math.min(84, (wide - SIDE - 30) / N);
    const left = j => SIDE + j * cell, { at, rows: weights } = heads;
    names.forEach((name, j) => {
      set(text_at(name, 0, 0), { transform: `translate(${left(j) + cell / 2 - 2},${WORDS - 10}) rotate(-40)` });
      name.classList.toggle("strong", j === at);
      name.classList.toggle("query", j === at);
    });
    text_at(asks, 0, WORDS + ROW / 2 + 5);
    places.forEach((place, j) => box_at(place, left(j) + 1, WORDS + 2, cell - 2, ROW - 8));
    rows.forEach(({ name, cells }, h) => {
      const there = h < weights.length, y = WORDS + (h + 1) * ROW;
      shown(text_at(name, 0, y + ROW / 2 + 4), there);
      cells.forEach(([box, share], j) => {
        const weight = there ? weights[h][j] : 0;
        shown(set(box_at(box, left(j) + 1, y, cell - 2, ROW - 2), { style: filled("weight", 88 * weight) }), there);
        shown(set(text_at(share, left(j) + cell / 2, y + ROW / 2 + 4, number(weight, cell < 38 ? 1 : 2)),
          { style: `fill: var(--${weight > 0.66 ? "paper" : "ink"})` }), there && cell > 22 && weight >= 0.05);
      });
    });
    const x = left(at) + cell / 2, y = WORDS + (ROW - 4) / 2;
    set(dot, { cx: x, cy: y });
    box_at(ring, x - cell / 2 - 2, WORDS - 1, cell + 4, ROW - 2);
    set(mark.firstChild, { x: x - 22, y: WORDS });
    set(mark, { "aria-valuemin": 1, "aria-valuemax": N, "aria-valuenow": at + 1,
      "aria-valuetext": `${heads.words[at]}, number ${at + 1} of ${N}` });
    return WORDS + (weights.length + 1) * ROW + 2;
  }
  return made;
}

function sentence(heads) {
  const most = heads.rows.map(row => row.indexOf(Math.max(...row)));
  const look = most.map((j, h) => `${most.length > 1 ? `head ${h + 1}` : "it"} looks most at “${heads.words[j]}” (${number(heads.rows[h][j])})`);
  return `In ${heads.name}, “${heads.words[heads.at]}” asks: ${look.join(", ")}.`;
}

instrument("heads", given => {
  const title = "Where each head looks", heads = new Heads(given), drawn = drawing_of(heads, draw);
  const framed = frame(title, "Point at a word, or focus its dot and press the arrow keys.", () => {
    heads.start();
    draw();
  });
  const layers = choices(heads.layers.map(([name]) => name), n => {
    heads.layer = n;
    draw();
  });

  function draw() {
    layers.show(heads.layer);
    drawn.redraw();
    framed.say(sentence(heads));
  }

  const fuller = html("p", { class: "note" }, "The fuller a square, the larger the weight; a row adds up to 1.");
  return { title, parts: [...framed.head, layers.field, framed.says, drawn.drawing, fuller], draw };
});
