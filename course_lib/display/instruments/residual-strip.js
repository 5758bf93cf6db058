// The residual stream as a strip: choose a head, see where it looks and what it writes, cut it, and the loss answers.
const ARCS = 74, CELL = 34, STRIP = 196, BOX = 46;  // pixels: above the tokens, a token, the middle of the strip, a head

class Strip {
  constructor(given) {
    Object.assign(this, given);
    this.begin();
  }

  begin() { [this.head, this.at, this.cut] = [...this.start, 0]; }
  get H() { return this.first[1].length; }
  ask(at) { this.at = between(at, 0, this.tokens.length - 1); }
  toggle(head) { this.cut ^= 1 << head; }
  silent(head) { return this.cut >> head & 1; }

  // What block 2 sees depends on which heads of block 1 are cut
  seen(head) {
    const [looks, words] = head < this.H ? this.first : this.second[this.cut & (1 << this.H) - 1];
    const h = head % this.H;
    return { looks: looks[h][this.at], writes: words[h][this.at] };
  }

  name(head) { return `${Math.floor(head / this.H) + 1}.${head % this.H + 1}`; }
  get cost() { return this.costs[this.cut]; }
}

function drawing_of(strip, changed) {
  const T = strip.tokens.length, all = range(2 * strip.H);
  const arcs = range(2).map(() => path("none", { stroke: paint("weight"), "stroke-linecap": "round" }));
  const cells = range(T).map(() => rect("paper", { rx: 4, stroke: paint("line") }));
  const letters = strip.tokens.map(token => text("middle strong", token));
  const shares = range(2).map(() => text("small middle weight on-paper"));
  const frame = outline("query", { rx: 5, "stroke-width": 2.5 }), ring = outline("none", { rx: 8, class: "ring" });
  const mark = svg("g", {}, rect("none", { "pointer-events": "all", width: 44, height: 44 }), frame, ring);
  const stream = line("ink", { "stroke-width": 6, "stroke-linecap": "round" });
  const heads = all.map(head => ({
    box: rect("paper", { rx: 10, "stroke-width": 2, "pointer-events": "all", style: "cursor: pointer" }),
    name: text("middle", strip.name(head), { "pointer-events": "none" }), writes: text("middle strong value"),
  }));
  const words = ["looks", "block 1", "block 2", "writes"].map(says => text("small soft", says));
  const made = sheet({ role: "group", "aria-label": "Tokens, and below them the heads on the residual stream" }, draw);
  made.drawing.append(...arcs, ...cells, ...letters, ...shares, stream, ...heads.flatMap(h => [h.box, h.name, h.writes]),
    ...words, mark);

  let cell = 1;
  const go = at => { strip.ask(at); changed(); };
  const under = x => Math.floor(x / cell);
  handle(mark, "the token that asks", {
    grab: () => [(strip.at + 0.5) * cell, ARCS + CELL / 2], drag: x => go(under(x)),
    keys: { ArrowLeft: () => go(strip.at - 1), ArrowRight: () => go(strip.at + 1), Home: () => go(0),
      End: () => go(T - 1) },
  });
  for (const seen of ["pointermove", "pointerdown"]) made.drawing.addEventListener(seen, event => {
    const box = made.drawing.getBoundingClientRect(), y = event.clientY - box.top, at = under(event.clientX - box.left);
    if (y > ARCS - 6 && y < ARCS + CELL + 6 && at >= 0 && at < T) go(at);
  });
  heads.forEach(({ box }, head) => {
    box.addEventListener("pointerenter", () => { strip.head = head; changed(); });
    box.addEventListener("click", () => { strip.head = head; strip.toggle(head); changed(); });
  });

  function draw(wide) {
    cell = Math.min(CELL, wide / T);
    const middle = at => (at + 0.5) * cell, { at, head } = strip, { looks } = strip.seen(head), spoken = !strip.silent(head);
    looks.forEach(([place, percent], i) => {
      const from = middle(at), to = middle(place), high = ARCS - 6 - Math.min(52, 12 + 0.28 * Math.abs(from - to));
      const bow = place === at ? `M${from - 5} ${ARCS - 4}C${from - 16} ${high - 10} ${from + 16} ${high - 10} ${from + 5} ${ARCS - 4}`
        : `M${from} ${ARCS - 4}C${from} ${high - 8} ${to} ${high - 8} ${to} ${ARCS - 4}`;
      shown(set(arcs[i], { d: bow, "stroke-width": 0.5 + percent / 10, opacity: 0.35 + percent / 160 }), spoken && percent > 1);
      shown(text_at(shares[i], to, ARCS + CELL + 16, number(percent / 100)), spoken && percent > 4);
    });
    cells.forEach((box, t) => box_at(box, t * cell + 1, ARCS, cell - 2, CELL));
    letters.forEach((letter, t) => {
      text_at(letter, middle(t), ARCS + CELL / 2 + 5);
      letter.classList.toggle("query", t === at);
    });
    for (const [edge, more] of [[frame, 0], [ring, 4]])
      box_at(edge, at * cell - more, ARCS - 1 - more, cell + 2 * more, CELL + 2 + 2 * more);
    set(mark.firstChild, { x: middle(at) - 22, y: ARCS - 5 });
    const left = 52, step = (wide - left - 12) / heads.length, across = h => left + (h + 0.5) * step;
    const size = Math.min(BOX, step - 4);
    line_at(stream, 4, STRIP, wide - 4, STRIP);
    heads.forEach(({ box, name, writes }, h) => {
      const off = strip.silent(h), chosen = h === head;
      box_at(box, across(h) - size / 2, STRIP - 21, size, 42);
      set(box, { stroke: paint(chosen ? "weight" : "ink"), "stroke-width": chosen ? 3.5 : 1.5,
        "stroke-dasharray": off ? "4 4" : null });
      text_at(name, across(h), STRIP + 5);
      name.classList.toggle("strong", chosen);
      name.classList.toggle("soft", Boolean(off));
      text_at(writes, across(h), STRIP + 48, off ? "–" : strip.seen(h).writes);
    });
    text_at(words[0], 0, 14);
    text_at(words[1], across(0) - size / 2, STRIP - 32);
    text_at(words[2], across(strip.H) - size / 2, STRIP - 32);
    text_at(words[3], 0, STRIP + 48);
    set(mark, { "aria-valuemin": 1, "aria-valuemax": T, "aria-valuenow": at + 1,
      "aria-valuetext": `${strip.tokens[at]}, number ${at + 1} of ${T}` });
    return STRIP + 58;
  }
  return made;
}

function sentence(strip) {
  const { head, at, tokens, cost } = strip, { looks: [[place, percent]], writes } = strip.seen(head);
  const gone = range(2 * strip.H).filter(h => strip.silent(h)).map(h => strip.name(h));
  const says = strip.silent(head) ? `Head ${strip.name(head)} is cut.`
    : `At “${tokens[at]}”, number ${at + 1}, head ${strip.name(head)} looks most at number ${place + 1}, “${tokens[place]}” (${number(percent / 100)}); what it writes speaks most for “${writes}”.`;
  const without = gone.length ? `Without ${gone.join(", ")}` : "With all heads";
  return `${says} ${without}, ${number(100 * cost[0], 0)} % of what is said again is right, and the loss is ${number(cost[1])}.`;
}

instrument("residual-strip", given => {
  const title = "Two blocks of heads on one residual stream", strip = new Strip(given), drawn = drawing_of(strip, draw);
  const framed = frame(title, "Point at a token or at a head; click a head to cut it. Or use the buttons and the arrow keys.", () => {
    strip.begin();
    draw();
  });
  const heads = choices(range(2 * strip.H).map(h => `head ${strip.name(h)}`), n => {
    strip.head = n;
    draw();
  });
  const cut = tick_box("cut this head", on => {
    if (Boolean(strip.silent(strip.head)) !== on) strip.toggle(strip.head);
    draw();
  });

  function draw() {
    heads.show(strip.head);
    cut.show(Boolean(strip.silent(strip.head)));
    drawn.redraw();
    framed.say(sentence(strip));
  }

  const note = html("p", { class: "note" }, "An arc is as thick as its weight; a head's two largest are shown.");
  return { title, parts: [...framed.head, heads.field, cut.field, framed.says, drawn.drawing, note], draw };
});
