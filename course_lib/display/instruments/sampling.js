// Sampling: turn the temperature, cut the tail, and see from which tokens the next one is drawn.
const ROW = 25, TOP = 14, LEFT = 104, RIGHT = 56;  // pixels: a token, what is above it, its name, the number behind its bar

class Draw {
  constructor(given) {
    Object.assign(this, given);
    this.begin();
  }

  begin() { [this.at, this.t, this.c] = [0, ...this.start]; }

  get text() { return this.contexts[this.at][0]; }
  get tokens() { return this.contexts[this.at][1][0]; }
  get probs() { return this.contexts[this.at][1][1][this.t][this.c]; }
  get left() { return this.contexts[this.at][1][2][this.t][this.c]; }
}

function drawing_of(draws) {
  const most = Math.max(...draws.contexts.map(([, [tokens]]) => tokens.length));
  const rows = range(most).map(() => ({ name: text("small end"), bar: rect("weight", { rx: 1.5 }), share: text("small soft") }));
  const zero = line("track"), rest = text("small soft");
  const made = sheet({ role: "img" }, draw);
  made.drawing.append(...rows.flatMap(row => [row.name, row.bar, row.share]), zero, rest);

  function draw(wide) {
    const { tokens, probs } = draws, room = wide - LEFT - RIGHT;
    rows.forEach(({ name, bar, share }, i) => {
      const there = i < tokens.length, p = there ? probs[i] : 0, y = TOP + ROW * i + 4;
      for (const mark of [name, bar, share]) shown(mark, there);
      if (!there) return;
      text_at(name, LEFT - 10, y + 14, tokens[i]);
      name.classList.toggle("soft", p === 0);
      box_at(bar, LEFT, y, room * p, ROW - 8);
      text_at(share, LEFT + room * p + 6, y + 13, p === 0 ? "–" : tiny(p));
    });
    line_at(zero, LEFT, TOP, LEFT, TOP + ROW * tokens.length);
    text_at(rest, LEFT, TOP + ROW * tokens.length + 18, `all other tokens together: ${number(Math.max(1 - sum(probs), 0))}`);
    set(made.drawing, { "aria-label": `Probabilities of ${tokens.length} tokens, the largest ${number(Math.max(...probs))}` });
    return TOP + ROW * tokens.length + 26;
  }
  return made;
}

function sentence(draws) {
  const { left, probs, tokens } = draws, most = probs.indexOf(Math.max(...probs));
  const among = left === 1 ? "one token alone" : `${left} tokens`;
  return `After “${draws.text}”, at temperature ${draws.temperatures[draws.t]} and with ${draws.cuts[draws.c]}, the next token is drawn from ${among}; “${tokens[most]}” comes with ${number(probs[most])}.`;
}

instrument("sampling", given => {
  const title = "From what the next token is drawn", draws = new Draw(given), drawn = drawing_of(draws);
  const framed = frame(title, "Move the slider, and choose what may be drawn at all.", () => {
    draws.begin();
    glide(drawn.drawing);
    draw();
  });
  const pick = (labels, name) => choices(labels, n => {
    draws[name] = n;
    glide(drawn.drawing);
    draw();
  });
  const texts = pick(draws.contexts.map(([words]) => words), "at"), cutting = pick(draws.cuts, "c");
  const last = draws.temperatures.length - 1;
  const heat = slider("temperature", { min: 0, max: last, hue: "weight", say: n => `${draws.temperatures[n]}`, move: n => {
    draws.t = n;
    draw();
  } });

  function draw() {
    texts.show(draws.at);
    cutting.show(draws.c);
    heat.show(draws.t);
    drawn.redraw();
    framed.say(sentence(draws));
  }

  const note = html("p", { class: "note" }, "A space at the end of a token is written as ␣. “–” cannot be drawn.");
  return { title, parts: [...framed.head, texts.field, framed.says, heat.field, cutting.field, drawn.drawing, note], draw };
});
