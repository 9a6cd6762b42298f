/* A card for each variable: its density, a bar for each state, now against before, and ways to say what is known. */
const Cards = (() => {
  const WIDE = 340, HIGH = 132, SIDE = 8, FOOT = 22;

  /* An HTML element with properties and children. */
  function html(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key in element && key !== "list") element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  /* Fills an article with the card of a variable. `say(known or null)` is called when the reader says what is known. */
  function create(article, variable, id, level, say) {
    const badge = html("button", {type: "button", className: "badge", hidden: true, onclick: () => say(null)});
    const mode = html("select", {className: "mode", hidden: true, "aria-label": `${variable.name}: seen, or set from outside`},
      html("option", {value: ""}, "is known"), html("option", {value: "set"}, "is set"));
    mode.addEventListener("change", () => say({...last, set: mode.value === "set"}));
    const title = html(`h${level}`, {id: `${id}-name`}, variable.name);
    const note = html("p", {className: "note card-note"});
    const picture = variable.edges ? density(variable, say) : null;
    const offered = variable.cut !== false && variable.card > 1;
    const rows = offered ? variable.states.map((text, k) => row(variable, text, k, say)) : [];
    const list = html("ul", {className: "states", "aria-label": `States of ${variable.name}`,
      style: `--name: ${Math.min(Math.max(...variable.states.map(text => text.length)), variable.unit ? 20 : 18)}ch`}, ...rows.map(r => r.item));
    const form = offered && variable.edges ? range(variable, id, say) : null;
    article.setAttribute("aria-labelledby", `${id}-name`);
    article.replaceChildren(html("header", {className: "card-head"}, title, html("span", {className: "group"}, mode, badge)), note);
    if (picture) article.append(picture.svg);
    if (offered) article.append(list);
    if (form) article.append(form.form);
    let last = null;

    function update(before, now, known, reason, lean = null) {
      last = known;
      const missing = now === null;
      article.classList.toggle("known", Boolean(known));
      article.classList.toggle("unanswered", missing);
      badge.hidden = !known;
      mode.hidden = !known || !Known.isOne(known);
      mode.value = known?.set ? "set" : "";
      article.classList.toggle("set", Boolean(known?.set));
      if (known) {
        badge.textContent = `${Known.words(variable, known)} ✕`;
        badge.setAttribute("aria-label", `Forget what is known of ${variable.name}: ${Known.words(variable, known)}`);
      }
      note.textContent = missing ? reason : description(variable, before, now, known, lean);
      const texts = missing ? [] : Numbers.percentages([...now]);
      const weights = known ? Known.weights(variable, known) : null;
      rows.forEach((r, k) => r.update(missing ? null : before[k], missing ? null : now[k], texts[k], weights ? weights[k] : 0));
      picture?.update(missing ? null : before, missing ? null : now, known, lean);
      form?.update(known);
    }

    return {article, update, focus: () => (rows[0]?.item.firstChild ?? title).focus(), known: () => last};
  }

  function description(variable, before, now, known, lean) {
    const parts = [variable.words];
    const moved = before.reduce((sum, p, k) => sum + Math.abs(p - now[k]), 0) / 2;
    if (variable.edges && variable.edges[0] < variable.edges.at(-1)) {
      const means = [mean(pieces(variable, before)), mean(pieces(variable, now, known, lean))];
      const [was, is] = variable.unit ? means.map(value => Numbers.write(variable, value)) : Numbers.pair(...means, variable.edges.at(-1) - variable.edges[0]);
      parts.push(was === is || known ? `mean ${is}` : `mean ${was} → ${is}`);
    }
    if (moved > 5e-4 && !known) parts.push(`moved ${Numbers.percent(moved, 0)}`);
    if (lean) parts.push(`inside bins it follows ${lean.by.join(" and ")}`);
    return parts.join(" · ");
  }

  /* Where the chance of each bin lies: in the bin, or in the part of it that a known range leaves; by the numbers of
     its parents where it has a line. */
  function pieces(variable, chances, known, lean = null) {
    if (lean) return Lines.leaning(pieces(variable, chances), variable.inside?.bin ?? [...chances.keys()], lean);
    const [low, high] = known?.range ?? [-Infinity, Infinity];
    if (variable.inside) return insidePieces(variable, chances, low, high);
    return [...chances].map((chance, k) => {
      const [left, right] = [variable.edges[k], variable.edges[k + 1]], inside = low < right && high > left;
      return inside ? {left: Math.max(left, low), right: Math.min(right, high), chance} : {left, right, chance};
    });
  }

  /* The same where values are not spread evenly inside a bin. */
  function insidePieces({inside: {ends, bin, share}}, chances, low, high) {
    const covered = share.map((part, j) => part * Inference.covers(ends[j], ends[j + 1], low, high));
    const whole = new Float64Array(chances.length);
    bin.forEach((k, j) => { whole[k] += covered[j]; });
    return bin.map((k, j) => {
      const cut = covered[j] > 0, left = cut ? Math.max(ends[j], low) : ends[j], right = cut ? Math.min(ends[j + 1], high) : ends[j + 1];
      return {left, right, chance: whole[k] > 0 ? (chances[k] * covered[j]) / whole[k] : chances[k] * share[j]};
    });
  }

  const mean = parts => parts.reduce((sum, {left, right, chance}) => sum + (chance * (left + right)) / 2, 0);

  /* A long name without its middle: names often begin alike. */
  const shortened = text => (text.length > 36 ? `${text.slice(0, 18)}…${text.slice(-17)}` : text);

  /* A state: its name, a bar, and the chance; a button that says it is known. */
  function row(variable, text, k, say) {
    const bar = html("span", {className: "bar-now"}), mark = html("span", {className: "bar-before"});
    const chance = html("span", {className: "chance"}), change = html("span", {className: "visually-hidden"});
    const button = html(
      "button",
      {type: "button", className: "state", onclick: event => say(undefined, k, event.shiftKey || event.ctrlKey || event.metaKey)},
      html("span", {className: "state-name", title: variable.groups ? variable.groups[k].join(", ") : text}, shortened(text)),
      html("span", {className: "track", "aria-hidden": "true"}, bar, mark), chance, change,
    );
    function update(before, now, words, weight) {
      bar.style.width = `${100 * (now ?? 0)}%`;
      mark.style.left = `${100 * (before ?? 0)}%`;
      mark.hidden = before === null;
      chance.textContent = words ?? "";
      change.textContent = before !== null && Math.abs(before - now) > 5e-4 ? `, ${Numbers.percent(before, 0)} before` : "";
      button.setAttribute("aria-pressed", weight === 0 ? "false" : weight === 1 ? "true" : "mixed");
    }
    return {item: html("li", {}, button), update};
  }

  /* Two fields for the ends of a range; an empty one is open. */
  function range(variable, id, say) {
    const field = (name, hint) => html("input", {
      type: variable.unit ? "text" : "number", step: "any", id: `${id}-${name}`, placeholder: hint, inputMode: variable.unit ? "text" : "decimal",
      "aria-label": `${variable.name} ${name}`,
    });
    const low = field("from", variable.marks[0]), high = field("to", variable.marks.at(-1));
    const end = (input, open) => (input.value.trim() === "" ? open : Numbers.read(variable, input.value));
    const form = html("form", {className: "range"}, "from ", low, " to ", high, html("button", {type: "submit"}, "Apply"));
    form.addEventListener("submit", event => {
      event.preventDefault();
      const ends = [end(low, -Infinity), end(high, Infinity)];
      const unread = ends.some(Number.isNaN), swapped = ends[0] > ends[1];
      high.setCustomValidity(unread ? `Write it as ${variable.marks[0]}.` : swapped ? "The second number must not be smaller than the first." : "");
      if (unread || swapped) high.reportValidity();
      else say(Known.range(...ends));
    });
    form.addEventListener("input", () => high.setCustomValidity(""));
    function update(known) {
      const ends = known?.range ?? [-Infinity, Infinity];
      [low, high].forEach((input, k) => { input.value = Number.isFinite(ends[k]) ? Numbers.write(variable, ends[k]) : ""; });
    }
    return {form, update};
  }

  /* The density: filled now, a line before; a click takes a bin, dragging a range. */
  function density(variable, say) {
    const {edges} = variable, low = edges[0], high = edges.at(-1), span = high - low || 1;
    const svg = Drawing.make("svg", {viewBox: `0 0 ${WIDE} ${HIGH}`, class: "density-picture", role: "img"});
    const across = value => SIDE + ((Math.min(Math.max(value, low), high) - low) / span) * (WIDE - 2 * SIDE);
    const foot = HIGH - FOOT;

    function update(before, now, known, lean) {
      const dense = parts => parts.map(part => ({...part, height: part.chance / (part.right - part.left || Infinity)}));
      const was = before ? dense(pieces(variable, before)) : [], is = now ? dense(pieces(variable, now, known, lean)) : [];
      const bars = variable.bars ?? [], heights = parts => parts.map(part => part.height);
      const still = !now || (!lean && was.every((part, k) => Math.abs(part.height - is[k].height) <= 1e-9 * Math.max(...heights(was))));
      const most = Math.max(...heights(was), ...heights(is), ...(still ? bars : []), 0), limit = 6 * Math.max(...bars, 0);
      const tall = (limit > 0 ? Math.min(most, limit) : most) || 1;
      const up = d => foot - Math.min(d / tall, 1) * (foot - 6);
      const steps = parts => parts.map(({left, right, height}, k) =>
        `${parts[k - 1]?.right === left ? "" : `L${across(left)} ${foot}`}V${up(height)}H${across(right)}${parts[k + 1]?.left === right ? "" : `V${foot}`}`).join("");
      const outline = parts => parts.map(({left, right, height}) => `L${across(left)} ${up(height)}H${across(right)}`).join("");
      const parts = [];
      const ends = known?.range ?? (known?.value === undefined ? null : [known.value, known.value]);
      if (ends) {
        const [a, b] = ends.map(across);
        parts.push(Drawing.make("rect", {x: a, y: 2, width: Math.max(b - a, 2), height: foot - 2, class: "known-range"}));
      }
      if (still) bars.forEach((d, k) => {
        const wide = (WIDE - 2 * SIDE) / bars.length;
        parts.push(Drawing.make("rect", {x: SIDE + k * wide, y: up(d), width: Math.max(wide - 0.6, 0.4), height: foot - up(d), class: "data-bar"}));
      });
      if (variable.cut) {
        if (!still) parts.push(Drawing.make("path", {d: `M${SIDE} ${foot}${outline(was)}V${foot}Z`, class: "before-area"}));
        parts.push(Drawing.make("path", {d: `M${SIDE} ${foot}${known?.range ? steps(is) : outline(is)}V${foot}`, class: still ? "now-line" : "now-area"}));
        for (const cut of edges.slice(1, -1)) parts.push(Drawing.make("path", {d: `M${across(cut)} ${foot}v-5`, class: "cut-mark"}));
      }
      parts.push(Drawing.make("path", {d: `M${SIDE} ${foot}H${WIDE - SIDE}`, class: "axis"}));
      for (const [tick, text] of Numbers.marks(variable)) {
        const half = 3.2 * text.length;
        const label = Drawing.make("text", {x: Math.min(Math.max(across(tick), half), WIDE - half), y: HIGH - 5, "text-anchor": "middle"});
        label.textContent = text;
        parts.push(Drawing.make("path", {d: `M${across(tick)} ${foot}v4`, class: "axis"}), label);
      }
      svg.replaceChildren(...parts);
      svg.setAttribute("aria-label", `density of ${variable.name}, its chances are in the list`);
    }

    if (variable.cut) select(svg, variable, span, say);
    return {svg, update};
  }

  /* A click in the picture takes the bin there; dragging takes the range, to three digits of the whole. */
  function select(svg, variable, span, say) {
    const valueAt = event => {
      const area = svg.getBoundingClientRect(), x = ((event.clientX - area.left) / area.width) * WIDE;
      return variable.edges[0] + ((x - SIDE) / (WIDE - 2 * SIDE)) * span;
    };
    const round = value => variable.unit === "date" ? Math.round(value) : Number(value.toFixed(Math.min(Math.max(0, 2 - Math.floor(Math.log10(span))), 12)));
    let start = null;
    svg.addEventListener("pointerdown", event => { if (event.button === 0) start = event; });
    svg.addEventListener("pointermove", event => {
      if (start && Math.abs(event.clientX - start.clientX) > 5) svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointercancel", () => { start = null; });
    svg.addEventListener("pointerup", event => {
      if (!start) return;
      const [a, b] = [valueAt(start), valueAt(event)].sort((p, q) => p - q), dragged = Math.abs(event.clientX - start.clientX) > 5;
      start = null;
      if (!dragged) { say(undefined, Known.binOf(variable, a), event.shiftKey || event.ctrlKey || event.metaKey); return; }
      const high = variable.edges.at(-1);
      say(Known.range(a <= variable.edges[0] ? -Infinity : round(a), b >= high ? Infinity : round(b)));
    });
  }

  return {create, html};
})();
