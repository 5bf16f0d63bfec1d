"use strict";
(() => {
  const form = document.getElementById("filters");
  const findings = [...document.querySelectorAll(".finding")];
  const shown = document.getElementById("shown");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const text = new Map(findings.map((finding) => [finding, finding.textContent.toLowerCase()]));
  form.hidden = false;

  function read() {
    const query = new URLSearchParams(location.search);
    if (query.has("class")) {
      const classes = query.get("class").split(",");
      boxes.forEach((box) => { box.checked = classes.includes(box.value); });
    }
    if (query.has("kind")) form.kind.value = query.get("kind");
    if (query.has("q")) form.q.value = query.get("q");
  }

  function write() {
    const query = new URLSearchParams();
    if (boxes.some((box) => !box.checked)) query.set("class", boxes.filter((box) => box.checked).map((box) => box.value).join(","));
    if (form.kind.value) query.set("kind", form.kind.value);
    if (form.q.value) query.set("q", form.q.value);
    const search = query.toString();
    try { history.replaceState(null, "", (search ? "?" + search : location.pathname) + location.hash); } catch { /* some viewers forbid it */ }
  }

  function filter() {
    const classes = boxes.filter((box) => box.checked).map((box) => box.value);
    const kind = form.kind.value;
    const wanted = form.q.value.toLowerCase();
    let visible = 0;
    for (const finding of findings) {
      const kinds = finding.dataset.kinds.split(" ");
      const keep = (!kind || kinds.includes(kind)) && classes.includes(finding.dataset.class) && (!wanted || text.get(finding).includes(wanted));
      finding.hidden = !keep;
      visible += keep ? 1 : 0;
    }
    shown.textContent = visible + (visible === 1 ? " finding" : " findings");
  }

  function all(open) { findings.forEach((finding) => { finding.open = open; }); }

  function target() {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!found) return;
    if (found.hidden) {
      // Reset the filters if they hide the link target.
      boxes.forEach((box) => { box.checked = true; });
      form.kind.value = "";
      form.q.value = "";
      filter();
      write();
    }
    if (found.matches("details")) found.open = true;
    found.scrollIntoView();
  }

  let current = null;
  function move(step) {
    const visible = findings.filter((finding) => !finding.hidden);
    if (!visible.length) return;
    const next = visible[Math.max(0, Math.min(visible.length - 1, visible.indexOf(current) + step))];
    if (current) current.classList.remove("current");
    current = next;
    current.open = true;
    current.classList.add("current");
    current.scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("input", () => { filter(); write(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("open").addEventListener("click", () => all(true));
  document.getElementById("close").addEventListener("click", () => all(false));
  addEventListener("hashchange", target);
  // A link that was followed already changes nothing, and is still meant.
  document.addEventListener("click", (event) => { if (event.target.closest("a[href^='#']")) setTimeout(target); });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input[type=search], select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const keys = {
      "j": () => move(1), "k": () => move(-1), "o": () => all(true), "c": () => all(false),
      "/": () => form.q.focus(), "1": () => boxes[0].click(), "2": () => boxes[1].click(), "3": () => boxes[2].click(),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  read();
  filter();
  target();
})();
