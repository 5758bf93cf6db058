// Writing: a translation word by word, where each word looked while it was written, and what else it might have been.
const ABOVE = 44, BELOW = 172, CELL = 40, BAR = 24;  // pixels: the words written, the words read, a candidate

class Writing {
  constructor({ sentences }) {
    this.sentences = sentences;
    this.start();
  }

  start() { this.take(0); }
  take(which) { Object.assign(this, { which, at: 0 }); }
  go(at) { this.at = between(at, 0, this.steps.length - 1); }

  get read() { return this.sentences[this.which][0]; }
  get steps() { return this.sentences[this.which][1]; }
  get weights() { return this.sentences[this.which][2][this.at]; }
  get candidates() { return this.steps[this.at]; }
  get written() { return this.steps.slice(0, this.at).map(([[word]]) => word); }
  get most() { return this.weights.indexOf(Math.max(...this.weights)); }
}

function drawing_of(writing) {
  const { sentences } = writing, longest = part => Math.max(...sentences.map(one => one[part].length));
  const upper = range(longest(1)).map(() => text("middle on-paper"));
  const lower = range(longest(0)).map(() => ({
    arc: path("none", { stroke: paint("weight"), "stroke-linecap": "round" }),
    cell: rect("paper", { rx: 3, stroke: paint("line") }), name: text("strong middle"),
  }));
  const bars = range(Math.max(...sentences.flatMap(one => one[1].map(step => step.length)))).map(() => ({
    name: text("end"), bar: rect("step", { rx: 2 }), share: text("small soft"),
  }));
  const names = [text("small soft", "written"), text("small soft", "read"), text("small soft", "the next word")];
  const made = sheet({ role: "img", "aria-label": "What is written, above what is read; below, the next word" }, draw);
  made.drawing.append(...lower.map(l => l.arc), ...names, ...upper, ...lower.flatMap(l => [l.cell, l.name]),
    ...bars.flatMap(b => [b.name, b.bar, b.share]));

  function draw(wide) {
    const { read, steps, weights, at, candidates, written } = writing;
    const across = (i, many) => wide * (i + 0.5) / many, from = across(at, steps.length);
    text_at(names[0], 0, 18);
    text_at(names[1], 0, BELOW + CELL + 20);
    text_at(names[2], 0, BELOW + CELL + 52);
    upper.forEach((mark, i) => {
      shown(text_at(mark, across(i, steps.length), ABOVE + 6, i < at ? written[i] : "?"), i <= at);
      mark.classList.toggle("strong", i === at);
      mark.classList.toggle("query", i === at);
    });
    const cell = Math.min(90, wide / read.length - 3);
    lower.forEach((l, j) => {
      const weight = weights[j] ?? 0, x = across(j, read.length), there = j < read.length;
      shown(set(l.arc, { d: `M${from} ${ABOVE + 14}C${from} ${BELOW - 50} ${x} ${ABOVE + 60} ${x} ${BELOW}`,
        "stroke-width": 0.5 + 12 * weight, opacity: 0.2 + 0.7 * weight }), there && weight >= 0.005);
      shown(set(box_at(l.cell, x - cell / 2, BELOW, cell, CELL), { style: filled("weight", 85 * weight) }), there);
      shown(set(text_at(l.name, x, BELOW + CELL / 2 + 5, read[j] ?? ""),
        { style: `fill: var(--${weight > 0.66 ? "paper" : "ink"}); font-size: ${Math.min(13, 1.6 * cell / Math.max(4, (read[j] ?? "").length)).toFixed(1)}px` }), there);
    });
    const top = BELOW + CELL + 62, left = 120, long = Math.min(360, wide - left - 60);
    bars.forEach(({ name, bar, share }, n) => {
      const [word, p] = candidates[n] ?? ["", 0], there = n < candidates.length, y = top + BAR * n;
      shown(text_at(name, left - 10, y + 16, word), there);
      name.classList.toggle("strong", n === 0);
      shown(box_at(bar, left, y + 4, Math.max(1, long * p), BAR - 9), there);
      shown(text_at(share, left + long * p + 8, y + 16, tiny(p)), there);
    });
    return top + BAR * bars.length + 4;
  }
  return made;
}

function sentence(writing) {
  const { written, candidates: [[word, p], next], read, weights, most } = writing;
  const so_far = written.length ? `“${written.join(" ")}” is written.` : "Nothing is written yet.";
  const other = next && next[1] >= 0.001 ? `, before “${next[0]}” (${tiny(next[1])})` : "";
  return `${so_far} It looks most at “${read[most]}” (${number(weights[most])}); most probable is “${word}” (${tiny(p)})${other}.`;
}

instrument("writing", given => {
  const title = "Written word by word", writing = new Writing(given), drawn = drawing_of(writing);
  const framed = frame(title, "Move the slider, or press its arrow keys: the model writes one more word.", () => {
    writing.start();
    draw();
  });
  const choosing = choices(writing.sentences.map(([read]) => read.filter(word => word !== "<eos>").join(" ")), n => {
    writing.take(n);
    draw();
  });
  const most = Math.max(...writing.sentences.map(one => one[1].length));
  const step = slider("words written", { min: 0, max: most - 1, hue: "query", say: at => `${at}`, move: at => {
    writing.go(at);
    draw();
  } });

  function draw() {
    choosing.show(writing.which);
    set(step.input, { max: writing.steps.length - 1 });
    step.show(writing.at);
    drawn.redraw();
    framed.say(sentence(writing));
  }

  const thick = html("p", { class: "note" }, "A line is as thick as its weight: the mean of the heads of the last decoder layer.");
  const parts = [...framed.head, choosing.field, framed.says, step.field, drawn.drawing, thick];
  return { title, parts, draw };
});
