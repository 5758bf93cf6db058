// Picture: choose a layer and a head, and see how much the class token takes of each patch, over the picture.
const SCALE = "0123456789abcdefghijklmnopqrstuvwxyz", WIDEST = 400, TOP = 14;  // pixels: a picture, what is above it

class Looks {
  constructor(given) {
    Object.assign(this, given);
    this.begin();
  }

  begin() {
    [this.at, this.layer, this.of] = [0, ...this.start];
    this.patch = this.brightest;
  }

  get name() { return this.pictures[this.at][0]; }
  get image() { return this.pictures[this.at][1][0]; }
  get layers() { return this.pictures[this.at][1][1]; }
  get maps() { return this.layers[this.layer][1]; }
  get map() { return this.maps[this.of][0]; }
  get own() { return this.maps[this.of][1][0]; }
  get most() { return this.maps[this.of][1][1]; }
  get parts() { return [...this.maps[this.of][1][2]].map(letter => SCALE.indexOf(letter) / 35); }  // of the largest
  get side() { return Math.round(Math.sqrt(this.parts.length)); }
  get brightest() { return this.parts.indexOf(1) < 0 ? 0 : this.parts.indexOf(1); }
  go(right, down) {
    const x = between(this.patch % this.side + right, 0, this.side - 1);
    this.patch = x + this.side * between(Math.floor(this.patch / this.side) + down, 0, this.side - 1);
  }
}

function drawing_of(looks, changed) {
  const image = svg("image", { preserveAspectRatio: "none" }), bare = svg("image", { preserveAspectRatio: "none" });
  const squares = range(looks.parts.length).map(() => rect("weight", { stroke: paint("paper"), "stroke-width": 0.6, opacity: 0.82 }));
  const ring = outline("paper", { "stroke-width": 4 }), inner = outline("ink", { "stroke-width": 2 });
  const mark = svg("g", {}, rect("none", { "pointer-events": "all", width: 28, height: 28 }), outline("none", { class: "ring", rx: 5 }));
  const made = sheet({ role: "group", "aria-label": "The picture, and on each patch a square whose area is its share" }, draw);
  made.drawing.append(image, bare, ...squares, ring, inner, mark);
  let cell = 1;

  const move = (right, down) => {
    looks.go(right, down);
    changed();
  };
  const to = (x, y) => {
    const column = Math.floor(x / cell), row = Math.floor((y - TOP) / cell);
    if (column < 0 || row < 0 || column >= looks.side || row >= looks.side) return;
    looks.patch = column + looks.side * row;
    changed();
  };
  handle(mark, "the patch that is read", {
    grab: () => [(looks.patch % looks.side + 0.5) * cell, TOP + (Math.floor(looks.patch / looks.side) + 0.5) * cell], drag: to,
    keys: { ArrowLeft: () => move(-1, 0), ArrowRight: () => move(1, 0), ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1) },
  });
  for (const seen of ["pointermove", "pointerdown"]) made.drawing.addEventListener(seen, event => {
    const box = made.drawing.getBoundingClientRect();
    to(event.clientX - box.left, event.clientY - box.top);
  });

  function draw(wide) {
    const side = Math.min(wide, WIDEST), { parts, patch } = looks;
    cell = side / looks.side;
    const style = looks.image.startsWith("data:image/png") ? "image-rendering: pixelated" : null;
    set(image, { href: looks.image, x: 0, y: TOP, width: side, height: side, style });
    shown(set(bare, { href: looks.image, x: side + 24, y: TOP, width: side, height: side, style }), wide >= 2 * side + 24);
    parts.forEach((part, n) => {
      const edge = 0.94 * cell * Math.sqrt(part), x = (n % looks.side + 0.5) * cell, y = TOP + (Math.floor(n / looks.side) + 0.5) * cell;
      box_at(squares[n], x - edge / 2, y - edge / 2, edge, edge);
    });
    const left = (patch % looks.side) * cell, top = TOP + Math.floor(patch / looks.side) * cell;
    for (const frame of [ring, inner]) box_at(frame, left, top, cell, cell);
    const wider = Math.max(cell, 28), x = left + (cell - wider) / 2, y = top + (cell - wider) / 2;
    box_at(mark.firstChild, x, y, wider, wider);
    box_at(mark.lastChild, x - 3, y - 3, wider + 6, wider + 6);
    set(mark, { "aria-valuemin": 1, "aria-valuemax": parts.length, "aria-valuenow": patch + 1,
      "aria-valuetext": `row ${Math.floor(patch / looks.side) + 1}, column ${patch % looks.side + 1}` });
    return side + TOP;
  }
  return made;
}

function sentence(looks) {
  const { patch, side, parts, most } = looks, row = Math.floor(patch / side) + 1, column = patch % side + 1;
  return `${looks.name}, ${looks.layers[looks.layer][0]}, ${looks.map}: the patch in row ${row}, column ${column} gets ${number(most * parts[patch], 3)}. The largest share is ${number(most, 3)}; the class token keeps ${number(looks.own)} for itself.`;
}

instrument("picture", given => {
  const title = "Where the class token looks", looks = new Looks(given), drawn = drawing_of(looks, draw);
  const framed = frame(title, "Choose a map. Point at a patch, or focus its frame and press the arrow keys.", () => {
    looks.begin();
    draw();
  });
  const pick = (labels, name) => choices(labels, n => {
    looks[name] = n;
    looks.patch = looks.brightest;
    draw();
  });
  const pictures = pick(looks.pictures.map(([name]) => name), "at");
  const maps = pick(looks.maps.map(([name]) => name), "of");
  const layers = slider("layer", { min: 0, max: looks.layers.length - 1, hue: "weight", say: n => looks.layers[n][0], move: n => {
    looks.layer = n;
    looks.patch = looks.brightest;
    draw();
  } });

  function draw() {
    pictures.show(looks.at);
    maps.show(looks.of);
    layers.show(looks.layer);
    drawn.redraw();
    framed.say(sentence(looks));
  }

  const note = html("p", { class: "note" }, "The area of a square is a share; the largest share of a map fills its patch.");
  const several = looks.pictures.length > 1 ? [pictures.field] : [];
  return { title, parts: [...framed.head, ...several, framed.says, ...(looks.layers.length > 1 ? [layers.field] : []), maps.field, drawn.drawing, note], draw };
});
