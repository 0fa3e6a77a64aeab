/* Programs that are wider than the page can be scrolled by keys as well. */
document.addEventListener("DOMContentLoaded", () => {
  for (const program of document.querySelectorAll("article pre")) {
    if (program.scrollWidth > program.clientWidth) program.tabIndex = 0;
  }
});
