// A picture in the dark, a question, and a lamp that is held: how long was it over each region?
const REACH = 2.6, STILL = 4000, TICK = 100;  // squares that are lit; milliseconds: longer at one place counts no more
const NAMES = 190, LINE = 34, SLIM = 640;  // pixels; a sheet that is narrower has the questions above their rows

class Looks {
  constructor({ rows, regions, questions }) {
    Object.assign(this, { rows, questions, names: Object.keys(regions) });
    this.region = {};
    this.names.forEach((name, n) => { for (const letter of regions[name]) this.region[letter] = n; });
    this.wide = rows[0].length;
    this.high = rows.length;
    this.start();
  }

  start() {
    this.times = this.questions.map(() => this.names.map(() => 0));
    this.ask(0);
  }

  ask(which) {
    this.asked = which;
    this.times[which].fill(0);
    Object.assign(this, { x: this.wide / 2, y: this.high / 2, counted: null, moved: null });
  }

  under() { return this.region[this.rows[Math.floor(this.y)][Math.floor(this.x)]]; }

  // What has been seen since it was last counted, up to now
  count() {
    const now = performance.now(), until = Math.min(now, this.moved + STILL);
    if (this.counted !== null && until > this.counted) this.times[this.asked][this.under()] += until - this.counted;
    this.counted = now;
  }

  to(x, y) {
    this.count();
    this.x = between(x, 0, this.wide - 0.01);
    this.y = between(y, 0, this.high - 0.01);
    this.counted = this.moved = performance.now();
  }

  shares(which) {
    const all = sum(this.times[which]);
    return all ? this.times[which].map(time => time / all) : null;
  }
}

function picture(looks, colours, changed) {
  const squares = Object.keys(colours).map(letter => {
    const d = looks.rows.flatMap((row, y) => [...row].map((here, x) => here === letter ? `M${x} ${y}h1v1h-1z` : ""));
    return svg("path", { d: d.join(""), style: `fill: #${colours[letter]}`, "shape-rendering": "crispEdges" });
  });
  const night = svg("rect", { width: looks.wide, height: looks.high, style: "fill: #15171c" });
  const faint = svg("g", { opacity: 0.13 }, ...squares.map(square => square.cloneNode()));
  const lit = svg("g", {}, ...squares);
  const ring = circle("none", { class: "ring" }), edge = circle("none", { "pointer-events": "all" });
  set(edge, { stroke: paint("query"), "stroke-width": 3 });
  const mark = svg("g", {}, edge, ring);
  const view = svg("g", {}, night, faint, lit);
  const made = sheet({ role: "group", "aria-label": "The picture, dark but for the lamp" }, draw);
  made.drawing.append(view, mark);
  let cell = 1;

  const go = (x, y) => { looks.to(x, y); changed(); };
  const step = (dx, dy) => far => go(looks.x + dx * (far ? 4 : 1), looks.y + dy * (far ? 4 : 1));
  handle(mark, "lamp", {
    grab: () => [looks.x * cell, looks.y * cell], drag: (x, y) => go(x / cell, y / cell), drop: changed,
    keys: { ArrowLeft: step(-1, 0), ArrowRight: step(1, 0), ArrowUp: step(0, -1), ArrowDown: step(0, 1) },
  });
  made.drawing.addEventListener("pointerdown", event => {  // beside the lamp: it comes
    if (mark.contains(event.target)) return;
    const box = made.drawing.getBoundingClientRect();
    go((event.clientX - box.left) / cell, (event.clientY - box.top) / cell);
    event.preventDefault();
    mark.focus({ preventScroll: true });
  });
  let ticking = null;
  mark.addEventListener("focus", () => {
    looks.counted = looks.moved = performance.now();
    ticking ??= setInterval(() => { looks.count(); changed(); }, TICK);
  });
  mark.addEventListener("blur", () => {
    clearInterval(ticking);
    looks.count();
    ticking = looks.counted = null;
    changed();
  });

  function draw(wide) {
    cell = wide / looks.wide;
    set(view, { transform: `scale(${cell})` });
    set(lit, { style: `clip-path: circle(${REACH}px at ${looks.x}px ${looks.y}px)` });
    for (const [round, more] of [[edge, 0], [ring, 5]])
      set(round, { cx: looks.x * cell, cy: looks.y * cell, r: REACH * cell + more });
    set(mark, { "aria-valuenow": Math.round(looks.x), "aria-valuemin": 0, "aria-valuemax": looks.wide,
      "aria-valuetext": `over the ${looks.names[looks.under()]}` });
    return wide * looks.high / looks.wide;
  }
  return made;
}

function rows_of_weights(looks) {
  const heads = looks.names.map(name => text("small soft middle", name));
  const lines = looks.questions.map(question => ({
    name: text("query", question), cells: looks.names.map(() => rect("paper", { rx: 2, stroke: paint("line") })),
    numbers: looks.names.map(() => text("middle")),
  }));
  const made = sheet({ role: "img" }, draw);
  made.drawing.append(...heads, ...lines.flatMap(line => [line.name, ...line.cells, ...line.numbers]));

  function draw(wide) {
    const left = wide < SLIM ? 0 : NAMES, above = wide < SLIM ? 24 : 0, cell = (wide - left) / looks.names.length;
    heads.forEach((head, n) => text_at(head, left + (n + 0.5) * cell, 12));
    const told = lines.map((line, q) => {
      const top = 22 + q * (LINE + above), shares = looks.shares(q);
      text_at(line.name, 0, top + (above ? 15 : LINE / 2 + 4));
      line.name.classList.toggle("strong", q === looks.asked);
      looks.names.forEach((_, n) => {
        const share = shares ? shares[n] : 0, y = top + above;
        set(box_at(line.cells[n], left + n * cell + 1, y + 1, cell - 2, LINE - 2), { style: filled("weight", 85 * share) });
        set(text_at(line.numbers[n], left + (n + 0.5) * cell, y + LINE / 2 + 4, shares ? number(share) : "·"),
          { style: `fill: var(--${share > 0.5 ? "paper" : "ink"})` });
      });
      return `${looks.questions[q]} ${shares ? shares.map((s, n) => `${looks.names[n]} ${number(s)}`).join(", ") : "–"}`;
    });
    set(made.drawing, { "aria-label": `Shares of your time. ${told.join("; ")}` });
    return 22 + lines.length * (LINE + above);
  }
  return made;
}

function sentence(looks) {
  const question = looks.questions[looks.asked], shares = looks.shares(looks.asked);
  if (!shares) return `${question} Move the lamp until you know, and then choose the next question.`;
  const first = shares.indexOf(Math.max(...shares));
  return `${question} The lamp was longest over the ${looks.names[first]}.`;
}

instrument("lamp", given => {
  const title = "A picture in the dark, and your lamp", looks = new Looks(given);
  const drawings = [picture(looks, given.paint, draw), rows_of_weights(looks)];
  const framed = frame(title, "Choose a question. Then drag the lamp, or focus it and press the arrow keys.", () => {
    looks.start();
    draw();
  });
  const asking = choices(looks.questions, q => {
    looks.ask(q);
    draw();
  });

  function draw() {
    asking.show(looks.asked);
    for (const drawing of drawings) drawing.redraw();
    framed.say(sentence(looks));
  }

  const named = html("p", { class: "note" }, "Share of the time that the lamp was over each region:");
  const parts = [...framed.head, asking.field, framed.says,
    html("div", { class: "night" }, drawings[0].drawing), named, drawings[1].drawing];
  return { title, parts, draw };
});
