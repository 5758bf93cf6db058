// Scores and their softmax: spread them, and see weights, entropy and slopes follow.
const LEAST = 0.1, MOST = 100;  // standard deviations

class Scores {
  constructor(given) {
    this.given = given;
    this.N = given.length;
    this.start();
  }

  start() {
    Object.assign(this, { width: 64, divided: false });
    Object.assign(this, { active: null, held: null });  // the score that is looked at; the axis while it is dragged
    this.take(this.given);
  }

  get all() { return this.shape.map(x => x * this.spread); }
  get weights() { return softmax(this.all); }

  // Set one by one: their shape has standard deviation 1 (the mean of squares, then the root), and the spread is the rest
  take(numbers) {
    const mean = sum(numbers) / this.N, spread = Math.sqrt(sum(numbers.map(x => (x - mean) ** 2)) / this.N);
    if (spread > 1e-6) Object.assign(this, { shape: numbers.map(x => x / spread), spread, by_width: false });
  }

  spread_to(deviation) {
    Object.assign(this, { spread: between(deviation, LEAST, MOST), by_width: false });
  }

  // A dot product of d random numbers has standard deviation √d
  let_width_decide() {
    Object.assign(this, { spread: this.divided ? 1 : Math.sqrt(this.width), by_width: true });
  }

  // Where the axis ends: the bars grow with the spread, though more slowly than the numbers beside them
  get reach() {
    const top = Math.max(...this.shape.map(Math.abs)) * this.spread;
    return this.held ?? 1.15 * top * (MOST / between(this.spread, LEAST, MOST)) ** 0.1;
  }
}

// The slope of weight i by score j; p(1 − p) in a form that is exact near 1
const slope = (p, i, j) => i === j ? p[i] * sum(p.filter((_, other) => other !== i)) : -p[i] * p[j];
const slopes = p => p.flatMap((_, i) => p.map((_, j) => slope(p, i, j)));
const entropy = p => sum(p.map(x => x > 0 ? -x * Math.log2(x) : 0));

// ---- scores above, weights below, in the same columns ----
const LEFT = 46, RIGHT = 40, TOP = 40, HIGH = 150, LOW = 120, ZERO = TOP + HIGH / 2, FLOOR = TOP + HIGH + 76 + LOW;

function bars(scores, changed) {
  const { N } = scores, columns = range(N).map(i => ({
    lane: outline("soft", { "stroke-width": 1.5, rx: 4 }),
    bar: rect("track", { rx: 1.5 }), weight: rect("weight", { rx: 1.5 }),
    says: text("small soft middle"), share: text("small middle on-paper"), name: text("small soft middle", i + 1),
    knob: knob("ink", 5, 15), at: [0, 0],
  }));
  const near = rect("lit"), near_line = line("ink", { "stroke-dasharray": "1 3" }), zero = line("soft");
  const ticks = range(5).map(() => [line("line"), text("small soft end")]);
  const levels = [[0, "0", "soft"], [0.5, "0.5", "line"], [1, "1", "line"]].map(([share, words, colour]) =>
    ({ y: FLOOR - LOW * share, line: line(colour), words: text("small soft end", words) }));
  const even = line("soft", { "stroke-dasharray": "2 4" }), even_name = text("small soft", `1/${N}`);
  const made = sheet({ role: "group", "aria-label": "Scores, and their weights below" }, draw);
  made.drawing.append(near, ...columns.map(c => c.lane), ...ticks.flat(), near_line, zero, even, even_name,
    ...levels.flatMap(l => [l.line, l.words]), text("title soft", "scores", { y: 14 }),
    text("title weight", "weights = softmax(scores)", { y: FLOOR - LOW - 28 }),
    ...columns.flatMap(c => [c.bar, c.weight, c.says, c.share, c.name]), ...columns.map(c => c.knob));
  columns.forEach((column, i) => hold(scores, columns, i, changed));
  point_at(made.drawing, scores, changed, event => {
    const box = made.drawing.getBoundingClientRect();
    return Math.floor((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * N);
  });

  function draw(wide) {
    const all = scores.all, { weights, reach } = scores, end = wide - RIGHT, column = (end - LEFT) / N;
    const y = score => ZERO - score / reach * HIGH / 2, top = Math.max(...all);
    const step = step_of(reach, 2.2), digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    ticks.forEach(([level, words], n) => {
      const value = (n - 2) * step, there = value !== 0 && Math.abs(value) < reach;
      shown(line_at(level, LEFT, y(value), end, y(value)), there);
      shown(text_at(words, LEFT - 8, y(value) + 4, number(value, digits)), there);
    });
    line_at(zero, LEFT, ZERO, end, ZERO);
    box_at(near, LEFT, y(top), end - LEFT, Math.max(Math.min(y(top - 3), TOP + HIGH) - y(top), 0));
    line_at(near_line, LEFT, y(top), end, y(top));
    for (const level of levels) {
      line_at(level.line, LEFT, level.y, end, level.y);
      text_at(level.words, LEFT - 8, level.y + 4);
    }
    line_at(even, LEFT, FLOOR - LOW / N, end, FLOOR - LOW / N);
    text_at(even_name, end + 6, FLOOR - LOW / N + 4);
    columns.forEach((c, i) => draw_column(c, i, all[i], weights[i], LEFT + (i + 0.5) * column, column, y(all[i])));
    return FLOOR + 28;
  }

  function draw_column(c, i, score, weight, x, column, y) {
    const thick = Math.min(0.6 * column, 34), tall = LOW * weight, mine = scores.active === i;
    c.at = [x, y];
    shown(box_at(c.lane, x - column / 2, TOP - 18, column, FLOOR - TOP + 42), mine);
    box_at(c.bar, x - thick / 2, Math.min(y, ZERO), thick, Math.abs(y - ZERO));
    box_at(c.weight, x - thick / 2, FLOOR - tall, thick, tall);
    shown(text_at(c.says, x, score < 0 ? y + 20 : y - 11, roughly(score)), column > 38 || mine);
    const written = number(weight), short = column < 36 && weight < 0.995;  // .25 where 0.25 is too wide
    text_at(c.share, x, FLOOR - tall - 6, weight < 0.005 ? "" : short ? written.slice(1) : written);
    text_at(c.name, x, FLOOR + 18);
    set(c.knob, { transform: `translate(${x} ${y})`, "aria-orientation": "vertical",
      "aria-valuemin": -3 * MOST, "aria-valuemax": 3 * MOST,
      "aria-valuenow": score.toFixed(3), "aria-valuetext": `score ${roughly(score)}, weight ${written}` });
  }
  return made;
}

// A score is dragged by the tip of its bar
function hold(scores, columns, i, changed) {
  const { knob } = columns[i], { N } = scores;
  const move = (value, most) => {
    scores.take(scores.all.map((score, j) => j === i ? between(value, -most, most) : score));
    changed();
  };
  const step = way => far => move(scores.all[i] + way * Math.max(scores.spread * (far ? 0.5 : 0.1), 0.01), 3 * MOST);
  const neighbour = way => () => columns[(i + way + N) % N].knob.focus();
  handle(knob, `score ${i + 1}`, {
    grab: () => { scores.held = scores.reach; return columns[i].at; },
    drag: (x, y) => move((ZERO - y) / (HIGH / 2) * scores.held, scores.held),
    drop: () => { scores.held = null; changed(); },
    keys: { ArrowUp: step(1), ArrowDown: step(-1), ArrowRight: neighbour(1), ArrowLeft: neighbour(-1) },
  });
  set(knob, { tabindex: i ? -1 : 0 });  // one stop for all scores: from there, arrows lead to the others
  knob.addEventListener("focus", () => {
    columns.forEach((column, j) => set(column.knob, { tabindex: j === i ? 0 : -1 }));
    scores.active = i;
    changed();
  });
  knob.addEventListener("blur", () => { scores.active = null; changed(); });
}

// The column under the pointer is framed in every drawing
function point_at(drawing, scores, changed, find) {
  const frame = i => {
    const found = i >= 0 && i < scores.N ? i : null;
    if (scores.held !== null || found === scores.active) return;
    scores.active = found;
    changed();
  };
  drawing.addEventListener("pointermove", event => frame(find(event)));
  drawing.addEventListener("pointerleave", () => frame(-1));
}

// ---- the slopes ----
const STEEPEST = 0.25;  // p(1 − p) at p = 1/2; the colours stay the same for every softmax
const hue = x => {
  const share = 100 * Math.sqrt(Math.min(Math.abs(x) / STEEPEST, 1));
  return { style: filled(x < 0 ? "minus" : "plus", share) };
};

function jacobian(scores, changed) {
  const { N } = scores, cells = range(N * N).map(() => rect("paper", { rx: 1.5 }));
  const [down, across] = ["end", "middle"].map(side => range(N).map(i => text(`small soft ${side}`, i + 1)));
  const edge = outline("track", { rx: 3 }), column = outline("ink", { rx: 3, "stroke-width": 2 });
  const by_score = text("small soft middle", "by score j"), of_weight = text("small soft middle", "slope of weight i");
  const legend = range(21).map(n => rect("paper", hue((n - 10) / 10 * STEEPEST)));
  const ends = ["−0.25", "0", "0.25"].map(words => text("small soft middle", words));
  const made = sheet({ role: "img" }, draw);
  made.drawing.append(text("title", "Jacobian", { y: 14 }), by_score, of_weight, ...cells, edge, column,
    ...down, ...across, ...legend, ...ends);
  point_at(made.drawing, scores, changed, event => {
    const box = cells[0].getBoundingClientRect();
    return Math.floor((event.clientX - box.left) / (box.width + 1));
  });

  function draw(wide) {
    const size = Math.min((wide - 46) / N, 30), side = N * size, x = 40, y = 56, all = slopes(scores.weights);
    all.forEach((value, n) =>
      set(box_at(cells[n], x + n % N * size, y + Math.floor(n / N) * size, size - 1, size - 1), hue(value)));
    for (const i of range(N)) {
      text_at(down[i], x - 6, y + (i + 0.5) * size + 4);
      text_at(across[i], x + (i + 0.5) * size, y - 6);
    }
    text_at(by_score, x + side / 2, y - 22);
    set(of_weight, { transform: `translate(12 ${y + side / 2}) rotate(-90)` });
    box_at(edge, x - 1, y - 1, side + 1, side + 1);
    shown(box_at(column, x + scores.active * size - 1, y - 1, size + 1, side + 1), scores.active !== null);
    legend.forEach((part, n) => box_at(part, x + n * side / 21, y + side + 14, side / 21 + 0.5, 8));
    ends.forEach((words, n) => text_at(words, x + side * (n / 2 + (1 - n) / 42), y + side + 38));
    set(made.drawing, { "aria-label": `The Jacobian as ${N} by ${N} slopes: positive on the diagonal, the largest ` +
      `${tiny(Math.max(...all))}, and negative beside it` });
    return y + side + 44;
  }
  return made;
}

// A number on its way from 0 to the most it can be
function gauge(label, most) {
  const now = html("span", { class: "now" }), fill = html("span", { class: "fill" });
  const meter = { role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": most };
  const bar = html("span", { class: "gauge", ...meter }, fill), name = html("span", {}, label);
  const show = (value, words) => {
    fill.style.width = `${100 * value / most}%`;
    now.textContent = words;
    set(bar, { "aria-valuenow": value, "aria-valuetext": words });
  };
  return { field: html("div", { class: "field" }, html("span", { class: "name" }, name, now), bar), show };
}

function sentence(scores, norm) {
  const { weights, width, divided, by_width } = scores, top = Math.max(...weights), low = Math.min(...weights);
  const root = number(Math.sqrt(width), Math.sqrt(width) % 1 ? 1 : 0), others = sum(weights.filter(p => p < top));
  const why = !by_width ? "" : divided
    ? `Divided by √${width}\u00a0=\u00a0${root}, the scores keep a standard deviation of 1, as they do at any width. `
    : `At width ${width} the standard deviation is √${width}\u00a0=\u00a0${root}. `;
  const share = top > 0.995 ? `One weight holds all but ${tiny(others)}.`
    : top > 0.9 ? `One weight holds ${number(top)}.`
    : top - low < 0.08 ? `The weights are nearly even, from ${number(low)} to ${number(top)}.`
    : `The largest weight is ${number(top)}.`;
  const left = norm < 0.02 ? "The slopes are gone" : norm < 0.12 ? "Hardly a slope is left"
    : "There are slopes to learn from";
  return `${why}${share} ${left}: the norm of the Jacobian is ${tiny(norm)}.`;
}

instrument("softmax-and-scale", given => {
  const title = "A softmax has a volume knob", scores = new Scores(given.scores), bits = Math.log2(scores.N);
  const above = bars(scores, draw), beside = jacobian(scores, draw);
  const todo = given.widths ? "Spread the scores, or let a width d spread them. Each score can be moved, too."
    : "Spread the scores. Each score can be moved, too.";
  const spread = gauge("entropy", bits), steep = gauge("norm of the Jacobian", 0.5);
  const framed = frame(title, todo, () => {
    scores.start();
    glide(above.drawing);
    draw();
  });
  const spreading = slider("standard deviation of the scores", {
    min: Math.log10(LEAST), max: Math.log10(MOST), step: 0.05, marks: { "0.1": -1, 1: 0, 10: 1, 100: 2 },
    say: () => roughly(scores.spread), move: power => { scores.spread_to(10 ** power); draw(); },
  });
  const widening = slider("or let a width d decide", {
    min: 0, max: 10, marks: { "d = 1": 0, 4: 2, 16: 4, 64: 6, 256: 8, 1024: 10 },
    say: () => scores.by_width ? `d = ${scores.width}, √d = ${roughly(Math.sqrt(scores.width))}` : "–",
    move: power => { scores.width = 2 ** power; scores.let_width_decide(); draw(); },
  });
  const dividing = tick_box("divide the scores by √d", on => {
    scores.divided = on;
    scores.let_width_decide();
    glide(above.drawing);
    draw();
  });

  function draw() {
    const { weights } = scores, norm = Math.hypot(...slopes(weights));
    spreading.show(Math.log10(scores.spread));
    widening.show(Math.log2(scores.width), !scores.by_width);
    dividing.show(scores.divided);
    above.redraw();
    beside.redraw();
    spread.show(entropy(weights), `${number(entropy(weights))} of ${number(bits)} bits`);
    steep.show(norm, tiny(norm));
    framed.say(sentence(scores, norm));
  }

  const key = html("p", { class: "note" }, html("span", { class: "swatch" }),
    "within 3 of the largest score: weights down to 1/20 of the largest");
  const parts = [...framed.head,
    html("div", { class: "controls" }, spreading.field,
      ...given.widths ? [html("div", {}, widening.field, dividing.field)] : []), framed.says,
    html("div", { class: "softmax-parts" }, html("div", {}, above.drawing, key),
      html("div", {}, beside.drawing, spread.field, steep.field))];
  return { title, parts, draw };
});
