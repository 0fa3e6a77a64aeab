/* Every figure of the page takes the place of its still picture; print shows the picture. */
(function (root) {
  "use strict";
  function start() {
    root.MercerStarted = [];
    for (const host of document.querySelectorAll(".mercer-figure[data-figure]")) {
      const live = document.createElement("div");
      live.className = "mf-live";
      const made = root.MercerFigures[host.dataset.figure](live, JSON.parse(host.dataset.options || "{}"));
      host.prepend(live);
      host.classList.add("mf-started");
      root.MercerStarted.push(made);
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})(window);
