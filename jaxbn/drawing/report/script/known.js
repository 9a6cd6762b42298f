/* What is known of the variables: as weights of their states, in words, in the page's address, and as people type it.

   Of a variable either some of its states are known, {states: [k, …]}, or of a continuous one a number, {value: x}, or a
   range, {range: [low, high]} with infinite ends where it is open. With {set: true} it is not seen but set from outside,
   which takes one state or number. */
const Known = (() => {
  /* P(what is known | state) for each state. */
  function weights(variable, known) {
    if (known.range) return Inference.overlap(variable, ...known.range);
    return Float64Array.from({length: variable.card}, (_, k) => (states(variable, known).includes(k) ? 1 : 0));
  }

  const states = (variable, known) => (known.value === undefined ? known.states : [binOf(variable, known.value)]);

  /* Whether it is one state, which can be set from outside. */
  const isOne = known => !known.range && (known.value !== undefined || known.states.length === 1);

  function words(variable, known) {
    const number = value => Numbers.write(variable, value);
    if (known.value !== undefined) return number(known.value);
    if (!known.range) return known.states.map(k => variable.states[k]).join(" or ");
    const [low, high] = known.range;
    if (low === -Infinity) return `up to ${number(high)}`;
    return high === Infinity ? `${number(low)} or more` : `${number(low)} to ${number(high)}`;
  }

  /* The fragment of an address: #mpg=30:&origin=europe,japan&weight=bin2&do:year=72 */
  function toFragment(variables, known) {
    return [...known].map(([i, what]) =>
      `${what.set ? "do:" : ""}${encodeURIComponent(variables[i].name)}=${toText(variables[i], what)}`).join("&");
  }

  function toText(variable, known) {
    const number = value => (variable.unit === "date" ? Numbers.write(variable, value) : String(value));
    if (known.range) return known.range.map(end => (Number.isFinite(end) ? number(end) : "")).join(":");
    if (known.value !== undefined) return number(known.value);
    return known.states.map(k => (variable.edges ? `bin${k + 1}` : encodeURIComponent(variable.states[k]))).join(",");
  }

  /* What a fragment says, as a Map; what it says of unknown variables or states is skipped and given as complaints. */
  function fromFragment(variables, fragment) {
    const known = new Map(), complaints = [];
    for (const part of fragment.replace(/^#/, "").split("&").filter(Boolean)) {
      const [, set, own] = /^(do:)?(.*)$/.exec(part), cut = own.indexOf("="), name = decode(own.slice(0, cut)), text = own.slice(cut + 1);
      const i = variables.findIndex(v => v.name === name), what = i < 0 ? null : fromText(variables[i], text);
      if (what && (!set || isOne(what))) known.set(i, set ? {...what, set: true} : what);
      else complaints.push(decode(part));
    }
    return {known, complaints};
  }

  function fromText(variable, text) {
    if (variable.edges && text.includes(":")) {
      const [low, high] = text.split(":").map(decode);
      return range(low.trim() ? Numbers.read(variable, low) : -Infinity, high.trim() ? Numbers.read(variable, high) : Infinity);
    }
    const words = text.split(",").map(word => decode(word).trim()), found = words.map(word => stateOf(variable, word));
    if (words.length === 1 && isValue(variable, words[0])) return {value: Numbers.read(variable, words[0])};
    return found.every(k => k >= 0) ? {states: [...new Set(found)].sort((a, b) => a - b)} : null;
  }

  /* A range, or nothing where it says nothing. */
  function range(low, high) {
    const ends = low <= high && low < Infinity && high > -Infinity;
    return ends && (low > -Infinity || high < Infinity) ? {range: [low, high]} : null;
  }

  /* The levels in a range, where levels are numbers; without its ends if it is `open`. */
  function levels(variable, low, high, open = false) {
    const values = variable.states.map(text => Number(text.trim() || NaN));
    const found = values.flatMap((value, k) => (value >= low && value <= high && !(open && (value === low || value === high)) ? [k] : []));
    return found.length && !values.some(Number.isNaN) ? {states: found} : null;
  }

  /* The state that a word means: a level, a group by its name or a member, a bin by its number, or a value. */
  function stateOf(variable, word) {
    const same = text => text.toLowerCase() === word.toLowerCase();
    const named = variable.states.findIndex(same);
    if (named >= 0) return named;
    if (variable.groups) return variable.groups.findIndex(group => group.some(same));
    if (!variable.edges) return variable.states.findIndex(text => word !== "" && Number(text) === Number(word));
    const bin = /^bin(\d+)$/i.exec(word);
    if (bin) return bin[1] >= 1 && bin[1] <= variable.card ? bin[1] - 1 : -1;
    return Number.isNaN(Numbers.read(variable, word)) ? -1 : binOf(variable, Numbers.read(variable, word));
  }

  const isValue = (variable, word) => Boolean(variable.edges) && Number.isFinite(Numbers.read(variable, word)) && !variable.states.includes(word);

  /* Bins are closed on the left. */
  function binOf(variable, value) {
    let k = 0;
    while (k < variable.card - 1 && value >= variable.edges[k + 1]) k++;
    return k;
  }

  /* The variables with whose names a text begins, that with the longest name first. */
  function named(variables, text) {
    const typed = text.trim().toLowerCase();
    return [...variables.keys()]
      .filter(i => typed.startsWith(variables[i].name.toLowerCase()))
      .sort((a, b) => variables[b].name.length - variables[a].name.length);
  }

  /* "mpg > 30", "origin = europe", "weight 2000 to 3000": [index, what is known], or null where it is no such sentence. */
  function parse(variables, text) {
    for (const i of named(variables, text)) {
      const what = sentence(variables[i], text.trim().slice(variables[i].name.length).trim());
      if (what) return [i, what];
    }
    return null;
  }

  /* Several sentences, "year = 2008 and sex = female; set dose = 3": [[index, what is known], …], or null. One sentence
     may have an "and" or a comma of its own, so the longest that can be understood is taken. */
  function parseAll(variables, text) {
    const found = /^\s*(?:set|do)\b\s*\(?(.*?)\)?\s*$/i.exec(text), plain = parse(variables, text);
    const set = !plain && found ? parse(variables, found[1]) : null;
    if (plain) return [plain];
    if (set && isOne(set[1])) return [[set[0], {...set[1], set: true}]];
    for (const {index, 0: between} of [...text.matchAll(/\s+and\s+|\s*[;&,]\s*/gi)].reverse()) {
      const first = parseAll(variables, text.slice(0, index)), rest = first && parseAll(variables, text.slice(index + between.length));
      if (rest) return [...first, ...rest];
    }
    return null;
  }

  function sentence(variable, rest) {
    const compared = /^(>=|<=|>|<|≥|≤)\s*(\S.*)$/.exec(rest), value = compared && Numbers.read(variable, compared[2]);
    if (compared && !Number.isNaN(value)) {
      const up = /[>≥]/.test(compared[1]), ends = up ? [value, Infinity] : [-Infinity, value];
      return variable.edges ? range(...ends) : levels(variable, ...ends, /^[<>]$/.test(compared[1]));
    }
    const between = /^(?:between|from|=|is|in)?\s*(-?[\d.e+-]+)\s*(?:to|and|:|\.\.)\s*(-?[\d.e+-]+)$/i.exec(rest);
    if (between) return (variable.edges ? range : levels.bind(null, variable))(...between.slice(1).map(end => Numbers.read(variable, end)));
    const equal = /^(?:=|is\b|:)\s*(.+)$/i.exec(rest);
    if (!equal) return null;
    const word = equal[1].trim(), whole = stateOf(variable, word);
    if (isValue(variable, word)) return {value: Numbers.read(variable, word)};
    return whole >= 0 ? {states: [whole]} : fromText(variable, equal[1].split(",").map(encodeURIComponent).join(","));
  }

  /* Known after a click on a state: that one alone, or none; `more` adds it to others or takes it away. */
  function toggled(known, state, more) {
    const before = known?.states ?? [];
    if (!more) return before.length === 1 && before[0] === state ? null : {states: [state]};
    const after = before.includes(state) ? before.filter(k => k !== state) : [...before, state];
    return after.length ? {states: after.sort((a, b) => a - b)} : null;
  }

  function decode(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  return {weights, words, isOne, toFragment, fromFragment, parseAll, named, range, toggled, binOf};
})();
