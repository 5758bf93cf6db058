// An alignment: choose something that was written, and see how much weight lay on each thing that was read.
const ABOVE = 34, BELOW = 190, CELL = 40;  // pixels: the middle of what was written, the top of what was read

class Alignment {
  constructor({ pairs, heard }) {
    Object.assign(this, { pairs, heard });
    this.start();
  }

  start() { this.take(0); }
  take(which) { Object.assign(this, { which, at: 0 }); }
  look(at) { this.at = between(at, 0, this.written.length - 1); }

  get read() { return this.pairs[this.which][0]; }
  get written() { return this.pairs[this.which][1]; }
  get weights() { return this.pairs[this.which][2][this.at]; }
  get most() { return this.weights.indexOf(Math.max(...this.weights)); }

  // What the encoder had read when it came to a state
  before(j) {
    return this.heard[this.which] === "left" ? this.read.slice(0, j + 1) : this.read.slice(j).reverse();
  }
}

function lines_of(alignment, changed) {
  const { pairs } = alignment, most = part => Math.max(...pairs.map(pair => pair[part].length));
  const upper = range(most(1)).map(() => text("middle on-paper"));
  const lower = range(most(0)).map(() => ({
    line: line("weight", { "stroke-linecap": "round" }), cell: rect("paper", { rx: 3, stroke: paint("line") }),
    name: text("strong middle"), share: text("small soft middle"),
  }));
  const place = outline("query", { rx: 6, "stroke-width": 2.5 }), ring = outline("none", { rx: 9, class: "ring" });
  const mark = svg("g", {}, rect("none", { "pointer-events": "all", width: 44, height: 44 }), place, ring);
  const names = [text("small soft", "written"), text("small soft", "read")];
  const made = sheet({ role: "group", "aria-label": "What was written, above what was read" }, draw);
  made.drawing.append(...lower.map(l => l.line), ...names, ...upper, ...lower.flatMap(l => [l.cell, l.name, l.share]),
    mark);
  let wide = 1;
  const across = (i, many) => wide * (i + 0.5) / many;
  const go = at => { alignment.look(at); changed(); };
  const under = x => Math.floor(x / wide * alignment.written.length);
  handle(mark, "what was written", {
    grab: () => [across(alignment.at, alignment.written.length), ABOVE], drag: x => go(under(x)),
    keys: { ArrowLeft: () => go(alignment.at - 1), ArrowRight: () => go(alignment.at + 1), Home: () => go(0),
      End: () => go(Infinity) },
  });
  for (const seen of ["pointermove", "pointerdown"]) made.drawing.addEventListener(seen, event => {
    const box = made.drawing.getBoundingClientRect();
    if (event.clientY - box.top < ABOVE + 30) go(under(event.clientX - box.left));
  });

  function draw(now) {
    wide = now;
    const { read, written, weights, at } = alignment;
    text_at(names[0], 0, 10);
    text_at(names[1], 0, BELOW + CELL + 34);
    upper.forEach((mark, i) => {
      shown(text_at(mark, across(i, written.length), ABOVE + 6, written[i] ?? ""), i < written.length);
      mark.classList.toggle("strong", i === at);
    });
    const from = across(at, written.length), cell = Math.min(CELL, wide / read.length - 3);
    lower.forEach((l, j) => {
      const weight = weights[j] ?? 0, x = across(j, read.length), there = j < read.length;
      shown(set(line_at(l.line, from, ABOVE + 15, x, BELOW), { "stroke-width": 0.5 + 12 * weight,
        opacity: 0.2 + 0.7 * weight }), there && weight >= 0.005);
      shown(set(box_at(l.cell, x - cell / 2, BELOW, cell, CELL), { style: filled("weight", 85 * weight) }), there);
      shown(set(text_at(l.name, x, BELOW + CELL / 2 + 5, read[j] ?? ""),
        { style: `fill: var(--${weight > 0.66 ? "paper" : "ink"})` }), there);
      shown(text_at(l.share, x, BELOW + CELL + 16, number(weight)), there && cell > 30);
    });
    for (const [frame, more] of [[place, 0], [ring, 4]])
      box_at(frame, from - 17 - more, ABOVE - 16 - more, 34 + 2 * more, 32 + 2 * more);
    set(mark.firstChild, { x: from - 22, y: ABOVE - 22 });
    set(mark, { "aria-valuemin": 1, "aria-valuemax": written.length, "aria-valuenow": at + 1,
      "aria-valuetext": `${written[at]}, number ${at + 1} of ${written.length}` });
    return BELOW + CELL + 40;
  }
  return made;
}

// Letters stand close, words apart
const joined = parts => parts.join(parts.every(part => part.length === 1) ? "" : " ");

function sentence(alignment) {
  const { read, written, weights, at, most, heard, which } = alignment;
  const known = heard[which] === null ? "" : ` Up to there the encoder had read “${joined(alignment.before(most))}”.`;
  return `To write “${written[at]}” it looks most at “${read[most]}”, with a weight of ${number(weights[most])}.${known}`;
}

instrument("alignment", given => {
  const title = "Where it looks while it writes", alignment = new Alignment(given), drawn = lines_of(alignment, draw);
  const framed = frame(title, "Point at what was written, or focus its frame and press the arrow keys.", () => {
    alignment.start();
    draw();
  });
  const choosing = choices(alignment.pairs.map(([read]) => joined(read)), n => {
    alignment.take(n);
    draw();
  });

  function draw() {
    choosing.show(alignment.which);
    drawn.redraw();
    framed.say(sentence(alignment));
  }

  const thick = html("p", { class: "note" }, "A line is as thick as its weight.");
  const parts = [...framed.head, choosing.field, framed.says, drawn.drawing, thick];
  return { title, parts, draw };
});
