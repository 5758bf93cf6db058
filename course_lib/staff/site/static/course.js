// What is wider than its column scrolls, and can be scrolled by keyboard: as a group with a name, and only while it is so.
const SCROLLS = "pre, .output.text_html, .equation, .table-wrapper, .drawing, .shown dd";

function letScroll() {
  for (const box of document.querySelectorAll(`article :is(${SCROLLS})`)) {
    const wide = box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible";
    if (wide === box.hasAttribute("tabindex")) continue;
    const named = { role: "group", "aria-label": "wider than the page: scrolls sideways" };
    const given = { tabindex: "0", ...(box.tagName === "DD" ? {} : named) }; // a description keeps its role
    for (const [name, value] of Object.entries(given)) wide ? box.setAttribute(name, value) : box.removeAttribute(name);
  }
}

// On a narrow page a wide picture fits; pressed, it is as large as on a wide one, and scrolls.
function enlarge(event) {
  if (!event.target.matches?.("div.cell_output img.wide")) return;
  event.target.classList.toggle("large");
  letScroll();
}

addEventListener("load", () => {
  document.addEventListener("click", enlarge);
  letScroll(); // at once: the observer speaks a frame later
  new ResizeObserver(letScroll).observe(document.documentElement);
  document.addEventListener("toggle", letScroll, true); // a fold that opens
  document.addEventListener("change", letScroll);
});

// Questions: without scripts each choice is a fold with its own reply. With them one chooses; the first guess and the
// last one stay in this browser, in the form in which the notebooks keep them.
const GUESSES = "course-guesses";
const DASHES = /[\u2212\u2013\u2014]/g;

function guesses() {
  try {
    return JSON.parse(localStorage.getItem(GUESSES)) ?? {};
  } catch {
    return {};
  }
}

function keepGuess(question, concept, guess, right) {
  const known = guesses();
  const first = known[question] ?? { concept, right, on: new Date().toISOString().slice(0, 10) };
  try {
    localStorage.setItem(GUESSES, JSON.stringify({ ...known, [question]: { ...first, guess } }));
  } catch {
    // a browser that keeps nothing still answers
  }
  offerGuesses();
}

function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function ask(box) {
  const question = box.querySelector("strong").textContent;
  const folds = [...box.querySelectorAll("details")];
  const numbers = [...box.querySelectorAll("li[data-answer]")].map((li) => ({
    answer: Number(li.dataset.answer), room: Number(li.dataset.room), right: "right" in li.dataset,
    says: li.textContent.replace(/^[^:]*: /, "") }));
  const reply = made("p", { className: "reply" });
  reply.setAttribute("role", "status");
  const say = (guess, right, says, keep = !box.closest(".hero")) => { // what no lesson asks is not kept
    reply.textContent = says;
    if (keep) keepGuess(question, box.dataset.concept || null, guess, right);
  };
  const form = made("form", { className: "asked" }, made("fieldset", {}, made("legend", { textContent: question })));
  const choose = numbers.length ? field(form.firstChild, numbers, say) : radios(form.firstChild, folds, say);
  form.addEventListener("submit", (event) => event.preventDefault());
  box.replaceChildren(form, reply);
  const kept = guesses()[question];
  if (kept) choose(kept.guess);
}

function radios(fieldset, folds, say) {
  const inputs = folds.map((fold) => {
    const input = made("input", { type: "radio", name: fold.getAttribute("name") });
    const choice = fold.querySelector("summary").textContent;
    input.addEventListener("change", () => say(choice, "right" in fold.dataset, fold.lastChild.textContent));
    fieldset.append(made("label", {}, input, " ", choice));
    return { input, choice, says: fold.lastChild.textContent };
  });
  return (guess) => inputs.filter(({ choice }) => choice === guess).forEach(({ input, says }) => {
    input.checked = true;
    say(guess, null, says, false);
  });
}

function field(fieldset, numbers, say) {
  const input = made("input", { type: "text", inputMode: "decimal", size: 10 });
  const take = (keep) => {
    const number = Number(input.value.replace(DASHES, "-").replace(/[\s,]/g, "") || NaN);
    if (Number.isNaN(number)) return say(null, null, "Type a number.", false);
    const near = numbers.filter(({ answer, room }) => Math.abs(number - answer) <= room)
      .sort((a, b) => Math.abs(number - a.answer) - Math.abs(number - b.answer))[0];
    const right = numbers.find((one) => one.right).answer;
    say(input.value, near?.right ?? false, near?.says ?? `✗ Too ${number < right ? "small" : "large"}. Read on, and compare.`,
      keep);
  };
  fieldset.append(made("label", {}, "Your number ", input), " ", made("button", { textContent: "This is my guess" }));
  fieldset.addEventListener("click", (event) => event.target.tagName === "BUTTON" && take(true));
  return (guess) => {
    input.value = guess;
    take(false);
  };
}

function offerGuesses() {
  const last = [...document.querySelectorAll(".course-question")].at(-1);
  if (!last) return;
  const how_many = Object.keys(guesses()).length;
  const box = document.querySelector(".my-guesses") ?? made("p", { className: "my-guesses" });
  const button = made("button", { textContent: "Download them" });
  button.addEventListener("click", () => {
    const file = new Blob([JSON.stringify(guesses(), null, 1)], { type: "application/json" });
    const link = made("a", { href: URL.createObjectURL(file), download: "predictions.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  box.replaceChildren(`${how_many} of your guesses are kept in this browser, and nowhere else. `, button,
    " Laid into my_answers/, beside your notebooks, they count in progress().");
  box.hidden = !how_many;
  last.after(box);
}

addEventListener("load", () => {
  document.querySelectorAll(".course-question").forEach(ask);
  offerGuesses();
});
