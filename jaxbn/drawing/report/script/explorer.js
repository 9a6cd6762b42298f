/* The page: what is known, in the address; answers to it; drawing, cards and words kept in step with them. */
(() => {
  const data = JSON.parse(document.getElementById("network-data").textContent);
  const variables = data.variables;
  for (const v of variables) v.table = v.table === null ? null : floats(v.table);
  const rows = data.rows ? codes(data.rows) : null; // drawn from the network, for what is too large to be summed
  const answerable = rows ? variables.map(() => true) : Inference.withTables(variables);
  const find = id => document.getElementById(id);
  const SLOW = 2e6; // numbers; above, the page says that it computes before it does

  let known = new Map(), answer = null, before = null, chosen = 0, one = new Map();

  function floats(text) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0)), view = new DataView(bytes.buffer);
    return Float64Array.from({length: bytes.length / 8}, (_, k) => view.getFloat64(8 * k, true));
  }

  function codes(text) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return Uint16Array.from({length: bytes.length / 2}, (_, k) => bytes[2 * k] + 256 * bytes[2 * k + 1]);
  }

  const drawing = Drawing.create(document.querySelector("svg.network"), variables, (i, keyboard) => {
    choose(i);
    if (keyboard) panel.focus();
  });
  const cards = [...document.querySelectorAll("#variables [data-variable]")].map(article => {
    const i = Number(article.dataset.variable);
    return Cards.create(article, variables[i], `card-${i}`, 3, teller(i));
  });
  let panel = null;

  /* What a card calls when the reader says what is known of variable i: all of it, or a state that was clicked. */
  function teller(i) {
    return (what, state, more) => {
      if (!answerable[i]) return;
      const next = what === undefined ? Known.toggled(known.get(i), state, more) : what;
      set(i, next && known.get(i)?.set && next.set === undefined && Known.isOne(next) ? {...next, set: true} : next);
    };
  }

  function set(i, what) {
    const next = new Map(known);
    if (what) next.set(i, what);
    else next.delete(i);
    go(next);
  }

  /* The address holds what is known: a link can be shared, and the browser's way back undoes. */
  function go(next) {
    const fragment = Known.toFragment(variables, next);
    if (fragment === location.hash.slice(1)) return;
    if (fragment) location.hash = fragment;
    else {
      history.pushState(null, "", location.pathname + location.search);
      read();
    }
  }

  function read() {
    const found = Known.fromFragment(variables, location.hash);
    const blind = [...found.known.keys()].filter(i => !answerable[i]);
    for (const i of blind) found.known.delete(i);
    known = found.known;
    const complaints = [...found.complaints, ...blind.map(i => variables[i].name)];
    compute(complaints.length ? `Not understood in the address: ${complaints.join(", ")}. ` : "");
  }

  function compute(complaint) {
    const weights = new Map([...known].map(([i, what]) => [i, Known.weights(variables[i], what)]));
    const acted = new Set([...known.keys()].filter(i => known.get(i).set));
    one = new Map([...weights].filter(([, w]) => w.filter(p => p > 0).length === 1).map(([i, w]) => [i, w.findIndex(p => p > 0)]));
    const ask = () => {
      before ??= Inference.answer(variables, new Map(), {}, rows);
      const asked = Lines.toldByRanges(Inference.mutilated(variables, acted), known); // drawn rows tell what is seen, not what would be
      answer = known.size ? Inference.answer(asked, weights, {}, acted.size ? null : rows) : before;
      render(complaint);
    };
    if ((before?.cells ?? 0) < SLOW) { ask(); return; }
    find("status").textContent = "Computing …";
    setTimeout(ask, 20);
  }

  function render(complaint) {
    variables.forEach((variable, i) => {
      const was = before.marginals[i], now = was && !answer.impossible ? answer.marginals[i] : null;
      const what = known.get(i), reason = whyNot(i);
      cards[i].update(was, now, what, reason, lean(i));
      cards[i].article.dataset.p = now ? [...now].join(" ") : "";
      drawing.show(i, was, now, Boolean(what), nodeLabel(variable, now, what, reason));
    });
    document.body.classList.toggle("asked", known.size > 0);
    updatePanel();
    order();
    chips();
    find("status").textContent = complaint + sentence();
    document.documentElement.dataset.answered = location.hash;
  }

  const lean = i => Lines.lean(variables, i, known, one);

  function whyNot(i) {
    if (!answerable[i]) return "Not answered here: its table, or that of an ancestor, is too large for this page.";
    if (answer.impossible) return "No answer: what is known cannot happen.";
    if (rows && [...known.values()].some(what => what.set)) return "Not answered here where something is set: a table is too large for this page.";
    if (answer.fitting === 0) return "No answer: none of the rows drawn from the network has what is known.";
    return "No answer: the question is too large for this page.";
  }

  function nodeLabel(variable, now, what, reason) {
    if (what) return `${variable.name}, ${what.set ? "set" : "known"}: ${Known.words(variable, what)}`;
    if (!now) return `${variable.name}. ${reason}`;
    if (variable.cut === false) return `${variable.name}, not cut`;
    const best = now.indexOf(Math.max(...now));
    return `${variable.name}, ${variable.words}, most probable: ${variable.states[best]}, ${Numbers.percent(now[best], 0)}`;
  }

  /* What is known, how probable that was, and what changed most. */
  function sentence() {
    if (answer.tooLarge.length) {
      const names = answer.tooLarge.slice(0, 5).map(i => variables[i].name).join(", ");
      const more = answer.tooLarge.length > 5 ? ` and ${answer.tooLarge.length - 5} more` : "";
      return `Too large a question for this page: ${names}${more} would need more than ${Inference.MOST_CELLS / 1e6} million numbers. ` +
        "Say more that is known, or ask net.query in Python.";
    }
    if (!known.size) return "Nothing is known yet: every variable is shown as it is in general." + about();
    if (answer.impossible) return "What is known cannot happen under this network; take some of it back.";
    const said = wanted => [...known].filter(([, what]) => Boolean(what.set) === wanted).map(([i, what]) =>
      `${variables[i].name}${variables[i].edges && what.value === undefined ? "" : " ="} ${Known.words(variables[i], what)}`).join(", ");
    const chance = Math.exp(answer.logProbability), acted = said(true), seen = said(false);
    const rare = chance < 5e-5 ? `1 in ${Number((1 / chance).toPrecision(2)).toLocaleString("en")}` : Numbers.percentages([chance])[0];
    const begin = (acted ? `If ${acted} is set from outside` : "") + (acted && seen ? ", and given" : acted ? "" : "Given") + (seen ? ` ${seen} (probability ${rare})` : "");
    const causes = acted ? " This tells what would happen only as far as the arrows are causes." : "";
    const most = byChange().slice(0, 3).map(i => variables[i].name);
    return `${begin}. ` + (most.length ? `Most changed: ${most.join(", ")}.` : "Nothing else changes.") + beyond() + causes + about();
  }

  /* What is known that no row comes near. */
  function beyond() {
    const outside = [...known].filter(([i, {value, range = [value, value]}]) => range[0] > variables[i].edges?.at(-1) || range[1] < variables[i].edges?.[0]);
    return outside.map(([i]) => {
      const {name, marks} = variables[i];
      return ` In the data, ${name} is from ${marks[0]} to ${marks.at(-1)}; what lies outside counts as the outer bin.`;
    }).join("");
  }

  /* Which answers are not exact. */
  function about() {
    if (!answer.drawn?.length) return "";
    const names = answer.drawn.slice(0, 5).map(i => variables[i].name).join(", ");
    const more = answer.drawn.length > 5 ? ` and ${answer.drawn.length - 5} more` : "";
    const n = (rows.length / variables.length).toLocaleString("en");
    return ` Approximate: ${names}${more}, from ${Math.round(answer.fitting).toLocaleString("en")} of ${n} rows drawn from the network.`;
  }

  const change = i => {
    const a = before.marginals[i], b = answer.marginals[i];
    return a && b && !known.has(i) ? a.reduce((sum, p, k) => sum + Math.abs(p - b[k]), 0) / 2 : 0;
  };
  const byChange = () => [...variables.keys()].filter(i => change(i) > 5e-4).sort((a, b) => change(b) - change(a));

  function order() {
    const grid = find("variables").querySelector(".variables"), sorted = find("order").value === "change" && !answer.impossible;
    const rank = i => (sorted ? (known.has(i) ? -2 : -change(i)) : 0);
    const wanted = [...variables.keys()].sort((a, b) => rank(a) - rank(b) || a - b);
    wanted.forEach((i, k) => { if (grid.children[k] !== cards[i].article) grid.insertBefore(cards[i].article, grid.children[k] ?? null); });
  }

  function chips() {
    find("known").replaceChildren(...[...known].map(([i, what]) => {
      const words = `${what.set ? "set " : ""}${variables[i].name}: ${Known.words(variables[i], what)}`;
      return Cards.html("li", {}, Cards.html(
        "button", {type: "button", className: "badge", "aria-label": `Forget ${words}`, onclick: () => set(i, null)}, `${words} ✕`));
    }));
    find("clear").disabled = find("share").disabled = known.size === 0;
  }

  function choose(i) {
    chosen = i;
    drawing.highlight(i);
    const article = Cards.html("article", {});
    panel = Cards.create(article, variables[i], "chosen-card", 3, teller(i));
    const blanket = [...Inference.blanket(variables, i)].map(k => variables[k].name);
    article.append(Cards.html("p", {className: "note"}, blanket.length
      ? `Markov blanket: ${blanket.join(", ")}. Given these, nothing else matters to ${variables[i].name}.`
      : `${variables[i].name} has no neighbour: nothing else tells about it.`));
    find("chosen").replaceChildren(article);
    if (answer) updatePanel();
  }

  function updatePanel() {
    const was = before.marginals[chosen], now = was && !answer.impossible ? answer.marginals[chosen] : null;
    panel.update(was, now, known.get(chosen), whyNot(chosen), lean(chosen));
  }

  /* The field: sentences such as "mpg > 30 and origin = usa", or part of a name. */
  function search() {
    const text = find("ask").value.trim(), said = Known.parseAll(variables, text);
    const found = new Set(said ? said.map(([i]) => i) : [...variables.keys()].filter(i => variables[i].name.toLowerCase().includes(text.toLowerCase())));
    drawing.match(text ? found : null);
    cards.forEach((card, i) => { card.article.hidden = text !== "" && found.size > 0 && !found.has(i); });
    return {said, found};
  }

  function submit(event) {
    event.preventDefault();
    const text = find("ask").value.trim(), {said, found} = search();
    if (!text) return;
    const i = [...found][0];
    if (i === undefined) {
      const of = variables[Known.named(variables, text)[0]], levels = of && !of.edges ? of.states.slice(0, 12).join(", ") : "";
      const hint = levels ? `; the levels are ${levels}${of.card > 12 ? " …" : ""}` : "";
      find("status").textContent = `“${text}” is not understood. Write ${of ? "" : "the name of a variable, or "}what is known: ${example(of)}${hint}.`;
      return;
    }
    choose(i);
    drawing.reveal(i);
    if (!said) return;
    find("ask").value = "";
    search();
    go(new Map([...known, ...said.filter(([k]) => answerable[k])]));
  }

  /* What may be written, of one variable or of two, in few letters. */
  function example(of = null) {
    const ask = v => (v.cut ? `${v.name} > ${v.marks[v.marks.length - 2]}` : `${v.name} = ${v.states[0]}`);
    const shortest = wanted => variables.filter(wanted).map(ask).sort((a, b) => a.length - b.length)[0];
    if (of) return ask(of);
    const found = [shortest(v => v.cut), shortest(v => !v.edges && v.card > 1)].filter(Boolean);
    return found.length ? found.join(" and ") : ask(variables[0]);
  }

  async function share() {
    const note = find("shared");
    try {
      await navigator.clipboard.writeText(location.href);
      note.textContent = "Link copied.";
    } catch {
      note.textContent = `Copy the address: ${location.href}`;
    }
    setTimeout(() => { note.textContent = ""; }, 8000);
  }

  find("tools").hidden = find("chosen").hidden = find("ordering").hidden = false;
  document.body.classList.add("interactive");
  find("ask").placeholder = `${example()}, or find a variable`;
  find("names").replaceChildren(...variables.map(v => Cards.html("option", {value: v.name})));
  find("ask").addEventListener("input", search);
  find("ask-form").addEventListener("submit", submit);
  find("clear").addEventListener("click", () => go(new Map()));
  find("share").addEventListener("click", share);
  find("order").addEventListener("change", order);
  find("zoom-in").addEventListener("click", () => drawing.zoom(drawing.STEP));
  find("zoom-out").addEventListener("click", () => drawing.zoom(1 / drawing.STEP));
  find("zoom-fit").addEventListener("click", () => drawing.fit());
  addEventListener("beforeprint", () => drawing.fit());
  addEventListener("hashchange", read);
  addEventListener("keydown", event => {
    const typing = event.target.matches("input, select, textarea");
    if (event.key === "/" && !typing) { find("ask").focus(); event.preventDefault(); }
    if (event.key === "Escape" && event.target === find("ask")) { find("ask").value = ""; search(); }
    if (event.key === "Escape" && find("chosen").contains(event.target)) drawing.focus(chosen);
  });
  document.querySelectorAll("details[data-variable]").forEach(details => Tables.create(details, variables, Number(details.dataset.variable)));
  document.querySelectorAll("[data-choose]").forEach(button => {
    button.disabled = false;
    button.addEventListener("click", () => { choose(Number(button.dataset.choose)); find("tools").scrollIntoView({block: "start"}); });
  });
  const neighbours = i => answerable[i] && Inference.blanket(variables, i).size > 0;
  choose(neighbours(data.first) ? data.first : Math.max([...variables.keys()].findIndex(neighbours), 0));
  read();
  if (known.size) choose([...known.keys()][0]);
})();
