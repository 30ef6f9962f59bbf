// Light or dark as the page that embeds this one, otherwise as the browser; its frame as high as this page.

(() => {
  const root = document.documentElement, browser = matchMedia("(prefers-color-scheme: dark)");
  const outside = () => {
    try {
      return window.parent === window ? null : window.parent.document.body;
    } catch { // of another origin
      return null;
    }
  };

  function show() {
    const wanted = outside()?.dataset.theme;
    const dark = wanted === "dark" || (wanted !== "light" && browser.matches), before = root.dataset.theme;
    root.dataset.theme = dark ? "dark" : "light";
    if (before && before !== root.dataset.theme) dispatchEvent(new Event("themechange"));
  }

  show();
  browser.addEventListener("change", show);
  if (window.parent === window) return;
  root.classList.add("embedded");
  if (!outside()) return;
  new MutationObserver(show).observe(outside(), { attributes: true, attributeFilter: ["data-theme"] });
  addEventListener("DOMContentLoaded", () => {
    new ResizeObserver(() => { window.frameElement.style.height = `${document.body.offsetHeight}px`; }).observe(document.body);
  });
})();
