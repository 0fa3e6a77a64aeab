/* Turning the pages of a set of slides: arrow keys, page keys, buttons; the address keeps the place. */
(function () {
  "use strict";
  const slides = [...document.querySelectorAll("section")], place = document.getElementById("place");
  const minutes = slides.map((slide) => Number(slide.dataset.minutes));
  function show(number) {
    const n = Math.max(0, Math.min(slides.length - 1, number));
    slides.forEach((slide, i) => slide.classList.toggle("now", i === n));
    const begins = minutes.slice(0, n).reduce((sum, value) => sum + value, 0);
    place.textContent = `${n + 1} of ${slides.length}, minute ${begins}`;
    history.replaceState(null, "", `#${n + 1}`);
    return n;
  }
  let now = show(Number(location.hash.slice(1)) - 1 || 0);
  window.addEventListener("hashchange", () => { now = show(Number(location.hash.slice(1)) - 1 || 0); });
  const turn = (by) => { now = show(now + by); };
  document.getElementById("back").addEventListener("click", () => turn(-1));
  document.getElementById("next").addEventListener("click", () => turn(1));
  document.addEventListener("keydown", (event) => {
    if (event.target.closest(".mf-live") || event.target.tagName === "INPUT") return; // keys of a figure
    if (event.key === " " && ["BUTTON", "SUMMARY"].includes(event.target.tagName)) return; // presses it
    if (["ArrowRight", "PageDown", " "].includes(event.key)) turn(1);
    if (["ArrowLeft", "PageUp"].includes(event.key)) turn(-1);
  });
})();
