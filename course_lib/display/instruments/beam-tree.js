// A beam's tree: what it kept open at each step, what ended, what fell out, and which beginning won.
const TOP = 42, ROW = 40, NARROW = 86;  // pixels: above the first row, a row of words, the narrowest column
const OPEN = "open", ENDED = "ended", OUT = "out";

class Tree {
  constructor({ searches }) {
    this.searches = searches.map(([name, nodes]) => [name, nodes.map(([step, word, parent, score, kind, best]) =>
      ({ step, word, parent, score, kind, best }))]);
    this.start();
  }

  start() { this.take(0); }
  take(which) { Object.assign(this, { which, at: 0 }); }
  go(at) { this.at = between(at, 0, this.last); }

  get name() { return this.searches[this.which][0]; }
  get nodes() { return this.searches[this.which][1]; }
  get last() { return Math.max(...this.nodes.map(node => node.step)); }
  get over() { return this.at === this.last; }
  of(step, kind) { return this.nodes.filter(node => node.step === step && (kind === undefined || node.kind === kind)); }
  words(node) { return (node.parent === null ? "" : `${this.words(this.nodes[node.parent])} `) + node.word; }
}

function drawing_of(tree) {
  const most = Math.max(...tree.searches.map(([, nodes]) => nodes.length));
  const marks = range(most).map(() => ({ line: line("ink"), name: text("on-paper"), score: text("small soft") }));
  const steps = range(Math.max(...tree.searches.map(([, nodes]) => Math.max(...nodes.map(n => n.step)))) + 1)
    .map(step => text("small soft", step ? `step ${step}` : "start"));
  const made = sheet({ role: "img", "aria-label": "A tree: each column is a step, each word a beginning" }, draw);
  made.drawing.append(...marks.map(mark => mark.line), ...steps, ...marks.flatMap(mark => [mark.name, mark.score]));

  function draw(wide) {
    const { nodes, at, last } = tree, column = Math.max(NARROW, wide / (last + 0.9)), rows = Array(last + 1).fill(0);
    const gone = Math.max(0, Math.ceil(at + 0.9 - wide / column));  // columns that have no room, from the left
    const across = step => 6 + column * (step - gone);
    const place = nodes.map(node => [across(node.step), TOP + 18 + ROW * rows[node.step]++]);
    steps.forEach((name, step) => shown(text_at(name, across(step), 22), step <= last && step >= gone
      && across(step + 0.9) <= wide));
    marks.forEach(({ line, name, score }, n) => {
      const node = nodes[n], there = n < nodes.length && node.step <= at && node.step >= gone;
      for (const mark of [line, name, score]) shown(mark, there);
      if (!there) return;
      const [x, y] = place[n], won = tree.over && node.best, room = Math.max(3, Math.floor((column - 14) / 8));
      text_at(name, x, y, node.word.length > room ? `${node.word.slice(0, room - 1)}…` : node.word);
      name.classList.toggle("strong", won);
      name.classList.toggle("soft", node.kind === OUT);
      name.classList.toggle("value", node.kind === ENDED);
      text_at(score, x, y + 14, number(node.score, 1));
      shown(line, node.parent !== null && node.step > gone);
      if (node.parent === null) return;
      const [before, height] = place[node.parent], drawn = Math.min(column - 20, 8.2 * nodes[node.parent].word.length + 8);
      set(line_at(line, before + drawn, height - 4, x - 5, y - 4), { "stroke-width": won ? 3 : 1.2,
        opacity: node.kind === OUT ? 0.3 : won ? 1 : 0.6 });
    });
    return TOP + ROW * Math.max(...rows) + 4;
  }
  return made;
}

function sentence(tree) {
  const { at, nodes } = tree;
  if (tree.over) {
    const won = nodes.filter(node => node.best).pop();
    return `The search is over: “${tree.words(won)}” has the largest sum, ${number(won.score)}.`;
  }
  const open = tree.of(at, OPEN).length, ended = tree.of(at, ENDED).length, out = tree.of(at, OUT).length;
  const rest = [ended && `${ended} ended`, out && `${out} fell out`].filter(Boolean).join(" and ");
  return at ? `After step ${at}, ${open} ${open === 1 ? "beginning is" : "beginnings are"} open${rest ? `; ${rest}` : ""}.` : "One beginning is open: nothing is written yet.";
}

instrument("beam-tree", given => {
  const title = "What the beam keeps", tree = new Tree(given), drawn = drawing_of(tree);
  const framed = frame(title, "Move the slider, or press its arrow keys: all open beginnings grow by one word.", () => {
    tree.start();
    draw();
  });
  const choosing = choices(tree.searches.map(([name]) => name), n => {
    tree.take(n);
    draw();
  });
  const longest = Math.max(...tree.searches.map(([, nodes]) => Math.max(...nodes.map(node => node.step))));
  const step = slider("steps", { min: 0, max: longest, say: at => `${at}`, move: at => {
    tree.go(at);
    draw();
  } });

  function draw() {
    choosing.show(tree.which);
    set(step.input, { max: tree.last });
    step.show(tree.at);
    drawn.redraw();
    framed.say(sentence(tree));
  }

  const note = html("p", { class: "note" }, "A number is the sum of log-probabilities so far. Green has ended, grey fell out of the beam.");
  return { title, parts: [...framed.head, choosing.field, framed.says, step.field, drawn.drawing, note], draw };
});
