"use strict";
// Which pane is shown is in the address (#pass-3), so that a link or a reload leads there again.
(function () {
  const root = document.documentElement;
  addEventListener("error", (event) => { root.dataset.error = event.message; });

  function show() {
    const wanted = location.hash.slice(1);
    const panes = [...document.querySelectorAll(".pane")];
    const pane = panes.find((p) => p.id === wanted) || panes[0];
    for (const each of panes) each.classList.toggle("shown", each === pane);
    for (const link of document.querySelectorAll("nav a")) {
      const chosen = link.getAttribute("href") === "#" + pane.id;
      link.classList.toggle("chosen", chosen);
      if (chosen) { link.setAttribute("aria-current", "page"); link.scrollIntoView({ block: "nearest" }); }
      else link.removeAttribute("aria-current");
    }
    document.querySelector("main").scrollTop = 0;
    root.dataset.pane = pane.id;
  }

  function choose(button) {
    const pane = button.closest(".pane");
    for (const each of pane.querySelectorAll("[role=tab]")) {
      each.setAttribute("aria-selected", String(each === button));
      document.getElementById(each.getAttribute("aria-controls")).classList.toggle("shown", each === button);
    }
    root.dataset.tab = button.textContent;
  }

  // A graph begins at a scale at which it can be read; dragging moves it, the wheel zooms.
  function navigable(svg) {
    const whole = svg.viewBox.baseVal;
    const full = { width: whole.width, height: whole.height };
    const home = () => {
      const box = svg.getBoundingClientRect();
      if (!box.width) return false;
      const scale = Math.max(Math.min(box.width / full.width, box.height / full.height), Math.min(0.75, box.width / full.width));
      set((full.width - box.width / scale) / 2, Math.min(0, (full.height - box.height / scale) / 2),
        box.width / scale, box.height / scale);
      return true;
    };
    const set = (x, y, width, height) => svg.setAttribute("viewBox", [x, y, width, height].join(" "));
    let placed = false;
    new ResizeObserver(() => { if (!placed) placed = home(); }).observe(svg);
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const view = svg.viewBox.baseVal, box = svg.getBoundingClientRect();
      const factor = Math.exp(event.deltaY * 0.0015);
      const x = view.x + view.width * (event.clientX - box.left) / box.width;
      const y = view.y + view.height * (event.clientY - box.top) / box.height;
      set(x - (x - view.x) * factor, y - (y - view.y) * factor, view.width * factor, view.height * factor);
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      let { clientX, clientY } = event;
      const move = (next) => {
        const view = svg.viewBox.baseVal, scale = view.width / svg.getBoundingClientRect().width;
        set(view.x - (next.clientX - clientX) * scale, view.y - (next.clientY - clientY) * scale, view.width, view.height);
        ({ clientX, clientY } = next);
      };
      const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
    });
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "whole graph";
    button.addEventListener("click", () => set(0, 0, full.width, full.height));
    svg.parentElement.append(button);
  }

  // A kernel in the graph after the last pass leads to its code.
  function linked() {
    const graphs = document.querySelectorAll("[id^=pass-] svg.graph");
    const last = graphs[graphs.length - 1];
    const places = new Map();
    for (const link of document.querySelectorAll("nav a[data-names]")) {
      for (const name of link.dataset.names.split(" ")) places.set(name, link.getAttribute("href"));
    }
    for (const node of last ? last.querySelectorAll(":scope > g > .node") : []) {
      const place = places.get(node.dataset.name);
      if (!place) continue;
      node.classList.add("linked");
      node.addEventListener("dblclick", () => { location.hash = place; });
    }
  }

  addEventListener("hashchange", show);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[role=tab]");
    if (button) choose(button);
  });
  document.querySelectorAll(".canvas > svg.graph").forEach(navigable);
  linked();
  show();
  root.dataset.ready = "yes";
})();
