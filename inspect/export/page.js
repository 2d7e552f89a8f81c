(() => {
  const tip = document.getElementById("tip");
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > innerHeight ? Math.max(8, y - tip.offsetHeight - 12) : y + 18) + "px";
  };
  const hide = () => { tip.hidden = true; };
  for (const row of document.querySelectorAll(".kl-row")) {
    const title = row.querySelector("title");
    const text = title.textContent;
    title.remove(); // else the browser shows it too
    row.setAttribute("tabindex", "0");
    row.setAttribute("role", "img");
    row.setAttribute("aria-label", text);
    row.addEventListener("mousemove", (e) => show(text, e.clientX, e.clientY));
    row.addEventListener("mouseleave", hide);
    row.addEventListener("focus", () => {
      const at = row.querySelector(".kl-bar").getBoundingClientRect();
      show(text, at.left, at.top);
    });
    row.addEventListener("blur", hide);
  }
  addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
})();
