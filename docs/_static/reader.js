/* Programs and tables that are wider than the page can be scrolled by keys as well. */
document.addEventListener("DOMContentLoaded", () => {
  for (const wide of document.querySelectorAll("article pre, article .table-wrapper")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  }
  for (const picture of document.querySelectorAll("article figure.picture img, article img.sphx-glr-single-img")) {
    if (picture.complete) keepLegible(picture);
    else picture.addEventListener("load", () => keepLegible(picture));
  }
  for (const picture of document.querySelectorAll("article figure.picture img.motion")) addStop(picture.closest("figure"));
});

/* A looping picture can be stopped: its last frame takes its place (WCAG 2.2.2). */
function addStop(figure) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "motion-stop", textContent: "Stop" });
  button.addEventListener("click", () => { button.textContent = figure.classList.toggle("stopped") ? "Play" : "Stop"; });
  figure.querySelector("figcaption").before(button);
}

/* On a phone a picture with several panels would have letters of a few pixels: it keeps its size and can be scrolled. */
function keepLegible(picture) {
  const legible = Math.min(0.85 * (picture.getAttribute("srcset") ? picture.naturalWidth / 2 : picture.naturalWidth), 640);
  if (window.innerWidth > 600 || legible < 1.25 * picture.clientWidth) return;
  const frame = Object.assign(document.createElement("div"), { className: "scrolls", tabIndex: 0 });
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "A wide picture: scroll it sideways");
  picture.replaceWith(frame);
  frame.append(picture);
  picture.style.width = `${legible}px`;
}
