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

addEventListener("load", () => {
  new ResizeObserver(letScroll).observe(document.documentElement);
  document.addEventListener("toggle", letScroll, true); // a fold that opens
  document.addEventListener("change", letScroll);
});
