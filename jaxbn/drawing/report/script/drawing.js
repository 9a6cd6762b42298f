/* The drawing of the network: choosing a variable by mouse, touch or keyboard, its blanket, zoom, and small bars. */
const Drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const STEP = 1.4, CLOSEST = 3, READABLE = 0.75;

  /* An SVG element with its attributes. */
  function make(tag, attributes = {}) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  function create(svg, variables, choose) {
    const box = svg.viewBox.baseVal, full = {x: box.x, y: box.y, width: box.width, height: box.height};
    let view = {...full};
    const place = new Map(variables.map((v, i) => [v.name, i]));
    const nodes = [], arcs = [...svg.querySelectorAll(".arc")].map(element => ({
      element, parent: place.get(element.dataset.parent), child: place.get(element.dataset.child),
    }));
    for (const element of svg.querySelectorAll(".node")) nodes[place.get(element.dataset.name)] = node(element);
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", "Network. Arrow keys move between variables, Enter asks about one.");
    svg.classList.add("live");
    let current = 0, chosen = -1;
    focusable(0);

    function node(element) {
      const frame = element.querySelector("rect");
      const at = name => Number(frame.getAttribute(name));
      const bars = make("g", {class: "bars-of-node", "aria-hidden": "true"});
      element.append(bars);
      element.setAttribute("role", "button");
      return {element, bars, x: at("x"), y: at("y"), width: at("width"), height: at("height")};
    }

    function focusable(i) {
      nodes[current].element.setAttribute("tabindex", "-1");
      nodes[i].element.setAttribute("tabindex", "0");
      current = i;
    }

    /* The chosen variable, its blanket and the arcs between them stand out. */
    function highlight(i) {
      chosen = i;
      const blanket = Inference.blanket(variables, i);
      nodes.forEach((n, k) => {
        n.element.classList.toggle("chosen", k === i);
        n.element.classList.toggle("blanket", blanket.has(k));
        n.element.setAttribute("aria-pressed", String(k === i));
      });
      const inside = k => k === i || blanket.has(k);
      for (const arc of arcs) {
        const child = arc.child === i || variables[arc.child].parents.includes(i);
        arc.element.classList.toggle("lit", inside(arc.parent) && inside(arc.child) && child);
      }
      focusable(i);
    }

    /* The chances in each box: bars now, a line before. */
    function show(i, before, now, known, label) {
      const n = nodes[i], left = n.x + 9, wide = n.width - 18, foot = n.y + n.height - 5, tall = 13;
      n.element.setAttribute("aria-label", label);
      n.element.classList.toggle("known", known);
      n.bars.replaceChildren();
      n.element.classList.toggle("with-bars", now !== null && variables[i].cut !== false);
      if (now === null || variables[i].cut === false) return;
      const each = wide / now.length, top = Math.max(...now, ...before);
      now.forEach((p, k) => n.bars.append(make("rect", {
        x: left + k * each + 0.5, y: foot - (p / top) * tall, width: Math.max(each - 1, 0.5), height: (p / top) * tall, class: "now",
      })));
      const line = [...before].map((p, k) => `M${left + k * each} ${foot - (p / top) * tall}h${each}`).join("");
      n.bars.append(make("path", {d: line, class: "before"}));
    }

    function match(found) {
      svg.classList.toggle("searching", found !== null);
      nodes.forEach((n, i) => n.element.classList.toggle("found", found !== null && found.has(i)));
    }

    function look(next) {
      view = next;
      svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    }

    const scaleOf = shown => Math.min(svg.clientWidth / shown.width, svg.clientHeight / shown.height);

    /* Closer or further, about a point of the drawing. */
    function zoom(factor, x = view.x + view.width / 2, y = view.y + view.height / 2) {
      const scale = scaleOf(view), whole = scaleOf(full), least = 0.7 * whole, most = Math.max(CLOSEST, 2 * whole);
      const f = scale / Math.min(Math.max(scale * factor, least), most);
      look({x: x - (x - view.x) * f, y: y - (y - view.y) * f, width: view.width * f, height: view.height * f});
    }

    function fit() { look({...full}); }

    /* Brings a variable into sight, at a size one can read. */
    function reveal(i) {
      const n = nodes[i], x = n.x + n.width / 2, y = n.y + n.height / 2;
      if (scaleOf(view) < READABLE) {
        const width = svg.clientWidth, height = svg.clientHeight;
        look({x: x - width / 2, y: y - height / 2, width, height});
      } else if (x < view.x || x > view.x + view.width || y < view.y || y > view.y + view.height) {
        look({...view, x: x - view.width / 2, y: y - view.height / 2});
      }
    }

    function point(event) {
      const area = svg.getBoundingClientRect(), s = Math.min(area.width / view.width, area.height / view.height);
      const free = {x: (area.width - view.width * s) / 2, y: (area.height - view.height * s) / 2};
      return {x: view.x + (event.clientX - area.left - free.x) / s, y: view.y + (event.clientY - area.top - free.y) / s, s};
    }

    /* Dragging moves the drawing, two fingers zoom, a click chooses. */
    const fingers = new Map();
    let moved = false;
    svg.addEventListener("pointerdown", event => {
      if (event.button !== 0) return;
      moved = false;
      fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    });
    svg.addEventListener("pointermove", event => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = {x: event.clientX, y: event.clientY}, {s} = point(event);
      if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 5) return;
      if (!moved) svg.setPointerCapture(event.pointerId);
      moved = true;
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const ratio = Math.hypot(now.x - other.x, now.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
        const middle = point({clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2});
        if (ratio > 0 && Number.isFinite(ratio)) zoom(ratio, middle.x, middle.y);
      } else {
        look({...view, x: view.x - (now.x - before.x) / s, y: view.y - (now.y - before.y) / s});
      }
      fingers.set(event.pointerId, now);
    });
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, event => fingers.delete(event.pointerId));
    svg.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.metaKey) return; // without, the page scrolls as everywhere
      event.preventDefault();
      const {x, y} = point(event);
      zoom(event.deltaY < 0 ? STEP : 1 / STEP, x, y);
    }, {passive: false});
    svg.addEventListener("click", event => {
      const element = event.target.closest(".node");
      if (element && !moved) choose(place.get(element.dataset.name), false);
    });

    svg.addEventListener("focusin", event => {
      const element = event.target.closest(".node");
      if (element) focusable(place.get(element.dataset.name));
    });
    svg.addEventListener("keydown", event => {
      const towards = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (towards) step(...towards);
      else if (event.key === "Enter" || event.key === " ") choose(current, true);
      else if (event.key === "+" || event.key === "=") zoom(STEP);
      else if (event.key === "-") zoom(1 / STEP);
      else if (event.key === "0") fit();
      else return;
      event.preventDefault();
    });

    /* To the nearest variable in a direction; sideways counts double. */
    function step(dx, dy) {
      const here = nodes[current], middle = n => [n.x + n.width / 2, n.y + n.height / 2], [x, y] = middle(here);
      let best = -1, least = Infinity;
      nodes.forEach((n, i) => {
        const [a, b] = middle(n), along = (a - x) * dx + (b - y) * dy, aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
        if (i !== current && along > 1 && along + 2 * aside < least) { best = i; least = along + 2 * aside; }
      });
      if (best < 0) return;
      focusable(best);
      nodes[best].element.focus({preventScroll: true});
      reveal(best);
    }

    return {highlight, show, match, zoom, fit, reveal, focus: i => nodes[i].element.focus(), chosen: () => chosen, STEP};
  }

  return {create, make};
})();
