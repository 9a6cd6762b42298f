"use strict";
/* Exact answers of a discrete Bayesian network: sums of products along a tree of buckets.

   A variable is {card, parents: [index, …], table: Float64Array or null}; the table runs through the states of the
   parents in order and through its own states fastest. What is known is a Map from a variable's index to weights,
   P(what is known | state); a single non-zero weight says that the state is known.

   A factor is {scope: [index, …], values: Float64Array}, the last variable of the scope running fastest. Variables are
   summed out one after the other; each has a bucket over itself and those it is then tied to. The bucket hands the sum
   to the bucket of the first of them to follow. Messages run down that tree and back up, and every bucket then holds
   the joint distribution of its variables given all that is known. */
const Inference = (() => {
  const MOST_CELLS = 12e6; // numbers in all buckets together: about a second, and 100 MB
  const MOST_EFFORT = 30e6; // numbers in all buckets of all questions, where each variable has its own

  /* P(variable | known) of every variable: exactly, and where that cannot be, from rows drawn from the network.
     Gives {marginals: [Float64Array or null], logProbability, cells, impossible, tooLarge: [index, …]}, with rows also
     {drawn: [index, …], fitting}: the variables answered by rows, and how many rows these answers are worth. */
  function answer(variables, known, limits = {}, rows = null) {
    if (!rows) return exactly(variables, known, limits);
    const answerable = withTables(variables), unheard = [...known.keys()].some(i => !answerable[i]);
    const nothing = {marginals: variables.map(() => null), cells: 0, impossible: false, tooLarge: []};
    const exact = unheard ? nothing : exactly(variables, known, limits);
    const drawn = exact.impossible ? [] : [...variables.keys()].filter(i => exact.marginals[i] === null);
    if (!drawn.length) return {...exact, drawn, fitting: Infinity};
    const width = variables.length, n = rows.length / width, weights = new Float64Array(n).fill(1);
    for (const [i, weigh] of known) for (let r = 0; r < n; r++) weights[r] *= weigh[rows[r * width + i]];
    const total = weights.reduce((sum, w) => sum + w, 0), squares = weights.reduce((sum, w) => sum + w * w, 0);
    for (const i of total > 0 ? drawn : []) {
      const counts = new Float64Array(variables[i].card);
      for (let r = 0; r < n; r++) counts[rows[r * width + i]] += weights[r] / total;
      exact.marginals[i] = counts;
    }
    const logProbability = unheard || exact.logProbability === null ? Math.log(total / n) : exact.logProbability;
    return {...exact, drawn, tooLarge: [], logProbability, fitting: total > 0 ? total * total / squares : 0};
  }

  /* The same by sums alone; a marginal is null where a table is absent or the question is too large. */
  function exactly(variables, known, limits) {
    const most = limits.cells ?? MOST_CELLS;
    const answerable = withTables(variables);
    const everyone = [...variables.keys()].filter(i => answerable[i]);
    const plan = prepare(variables, everyone, known);
    const marginals = variables.map(() => null);
    if (plan.cells <= most) {
      const found = propagate(variables, plan, known, marginals);
      return {marginals, cells: plan.cells, tooLarge: [], ...found};
    }
    return oneByOne(variables, everyone, known, marginals, most, limits.effort ?? MOST_EFFORT);
  }

  /* Where everything at once is too much: each variable alone, with its ancestors and those of what is known. */
  function oneByOne(variables, everyone, known, marginals, most, effort) {
    const observed = [...known.keys()];
    let logProbability = null, impossible = false, spent = 0;
    const tooLarge = [];
    for (const target of everyone) {
      const plan = prepare(variables, ancestors(variables, [target, ...observed]), known);
      if (plan.cells > most || spent + plan.cells > effort) { tooLarge.push(target); continue; }
      spent += plan.cells;
      const own = variables.map(() => null);
      const found = propagate(variables, plan, known, own);
      marginals[target] = own[target];
      logProbability = found.logProbability;
      impossible = impossible || found.impossible;
    }
    return {marginals, cells: spent, tooLarge, logProbability, impossible};
  }

  /* The network in which some variables are set from outside: nothing acts on them any more. */
  function mutilated(variables, set) {
    const alone = v => ({...v, parents: [], table: new Float64Array(v.card).fill(1)});
    return set.size ? variables.map((v, i) => (set.has(i) ? alone(v) : v)) : variables;
  }

  /* Whether a variable's table and those of all its ancestors are there. */
  function withTables(variables) {
    const found = new Array(variables.length);
    const visit = i => found[i] ??= variables[i].table !== null && variables[i].parents.every(visit);
    variables.forEach((_, i) => visit(i));
    return found;
  }

  function ancestors(variables, start) {
    const found = new Set(), stack = [...start];
    while (stack.length) {
      const i = stack.pop();
      if (!found.has(i)) { found.add(i); stack.push(...variables[i].parents); }
    }
    return [...found].sort((a, b) => a - b);
  }

  /* The factors of some variables with the known states put in, and the best order found to sum them out. */
  function prepare(variables, members, known) {
    const cards = variables.map(v => v.card), state = new Map(), factors = [];
    let log = 0;
    for (const [i, weights] of known) {
      const hit = [...weights.keys()].filter(k => weights[k] > 0);
      if (hit.length === 1) { state.set(i, hit[0]); log += Math.log(weights[hit[0]]); }
      else if (hit.length === 0) log = -Infinity;
      else factors.push({scope: [i], values: Float64Array.from(weights)});
    }
    for (const i of members) factors.push(slice(variables, i, cards, state));
    const free = members.filter(i => !state.has(i));
    const scopes = factors.map(f => f.scope);
    const orders = [byWeight, byFill, byBoth].map(cost => eliminate(free, scopes, cards, cost));
    const best = orders.reduce((a, b) => (b.cells < a.cells ? b : a));
    return {...best, factors, state, log, cards};
  }

  /* A variable's table at the known states of its family. */
  function slice(variables, child, cards, state) {
    const family = [...variables[child].parents, child], table = variables[child].table;
    const strides = family.map(() => 1);
    for (let k = family.length - 2; k >= 0; k--) strides[k] = strides[k + 1] * cards[family[k + 1]];
    let offset = 0;
    family.forEach((i, k) => { if (state.has(i)) offset += state.get(i) * strides[k]; });
    const open = family.flatMap((i, k) => (state.has(i) ? [] : [k]));
    const scope = open.map(k => family[k]);
    if (open.length === family.length) return {scope, values: table};
    const values = new Float64Array(size(scope, cards));
    const walk = odometer(scope, cards, open.map(k => strides[k]));
    for (let cell = 0; cell < values.length; cell++) { values[cell] = table[offset + walk.at]; walk.next(); }
    return {scope, values};
  }

  const byWeight = (scope, missing, cards) => size(scope, cards);
  const byFill = (scope, missing) => missing.length;
  const byBoth = (scope, missing, cards) => missing.reduce((sum, [a, b]) => sum + cards[a] * cards[b], 0);

  /* Greedy order: always the variable that costs least at the moment; ties by the size of its bucket. */
  function eliminate(free, scopes, cards, cost) {
    const near = new Map(free.map(i => [i, new Set()]));
    for (const scope of scopes) for (const a of scope) for (const b of scope) if (a !== b) near.get(a).add(b);
    const price = new Map(), order = [], buckets = [];
    const assess = i => {
      const scope = [i, ...near.get(i)];
      price.set(i, [cost(scope, unlinked(near, i), cards), size(scope, cards)]);
    };
    free.forEach(assess);
    let cells = 0;
    while (price.size) {
      let best = null;
      for (const [i, p] of price) {
        const q = best === null ? null : price.get(best);
        if (q === null || p[0] < q[0] || (p[0] === q[0] && p[1] < q[1])) best = i;
      }
      const around = [...near.get(best)];
      const touched = new Set(around);
      for (const [a, b] of unlinked(near, best)) {
        near.get(a).add(b); near.get(b).add(a);
        for (const c of near.get(a)) if (near.get(b).has(c)) touched.add(c); // theirs is the fill that changes
      }
      for (const a of around) near.get(a).delete(best);
      price.delete(best);
      order.push(best);
      buckets.push([...around, best]);
      cells += size(buckets[buckets.length - 1], cards);
      for (const i of touched) if (price.has(i)) assess(i);
    }
    return {order, buckets, cells};
  }

  function unlinked(near, i) {
    const around = [...near.get(i)], pairs = [];
    for (let a = 0; a < around.length; a++)
      for (let b = 0; b < a; b++) if (!near.get(around[a]).has(around[b])) pairs.push([around[a], around[b]]);
    return pairs;
  }

  /* Messages along the buckets, there and back; fills in the marginals. */
  function propagate(variables, plan, known, marginals) {
    const {order, buckets, cards, state} = plan;
    const rank = new Map(order.map((i, k) => [i, k]));
    const joint = buckets.map(scope => new Float64Array(size(scope, cards)).fill(1));
    let log = plan.log;
    for (const factor of plan.factors) {
      if (factor.scope.length === 0) log += Math.log(factor.values[0]);
      else multiply(joint[first(factor.scope, rank)], buckets[first(factor.scope, rank)], factor, cards);
    }
    const sent = order.map(() => null);
    order.forEach((variable, k) => {
      const scope = buckets[k].slice(0, -1), values = sum(joint[k], buckets[k], scope, cards);
      log += Math.log(scale(values));
      sent[k] = {scope, values};
      if (scope.length) multiply(joint[first(scope, rank)], buckets[first(scope, rank)], sent[k], cards);
    });
    const impossible = !(log > -Infinity);
    for (const [i, s] of state) marginals[i] = Float64Array.from({length: cards[i]}, (_, k) => (k === s ? 1 : 0));
    if (impossible) return {logProbability: -Infinity, impossible};
    for (let k = order.length - 1; k >= 0; k--) {
      const scope = sent[k].scope;
      if (scope.length) {
        const above = first(scope, rank), values = sum(joint[above], buckets[above], scope, cards);
        for (let c = 0; c < values.length; c++) values[c] = sent[k].values[c] > 0 ? values[c] / sent[k].values[c] : 0;
        scale(values);
        multiply(joint[k], buckets[k], {scope, values}, cards);
      }
      const own = sum(joint[k], buckets[k], [order[k]], cards), total = own.reduce((a, b) => a + b, 0);
      marginals[order[k]] = own.map(v => v / total);
    }
    return {logProbability: log, impossible};
  }

  const first = (scope, rank) => scope.reduce((least, i) => Math.min(least, rank.get(i)), Infinity);
  const size = (scope, cards) => scope.reduce((product, i) => product * cards[i], 1);

  /* Divides by the largest value, which keeps long products from vanishing, and gives it. */
  function scale(values) {
    let most = 0;
    for (const v of values) if (v > most) most = v;
    if (most > 0) for (let c = 0; c < values.length; c++) values[c] /= most;
    return most;
  }

  /* Steps through the cells of a scope, `at` being the place in another array with these strides. */
  function odometer(scope, cards, strides) {
    const n = scope.length, lengths = Int32Array.from(scope, i => cards[i]), counter = new Int32Array(n);
    return {
      at: 0,
      next() {
        for (let k = n - 1; k >= 0; k--) {
          this.at += strides[k];
          if (++counter[k] < lengths[k]) return;
          this.at -= strides[k] * lengths[k];
          counter[k] = 0;
        }
      },
    };
  }

  /* Strides of an array over `inner` for each variable of `outer`, 0 where it has no such variable. */
  function align(outer, inner, cards) {
    const strides = new Map();
    for (let k = inner.length - 1, step = 1; k >= 0; step *= cards[inner[k]], k--) strides.set(inner[k], step);
    return Int32Array.from(outer, i => strides.get(i) ?? 0);
  }

  /* Calls work(cell, at, step) for each run of the last variable of a scope: `cell` is the place of its first entry
     in an array over the scope, `at` in an array over `inner`, whose entries are `step` apart. */
  function runs(scope, inner, cards, work) {
    const strides = align(scope, inner, cards), last = scope.length - 1, length = cards[scope[last]];
    const walk = odometer(scope.slice(0, last), cards, strides), n = size(scope, cards);
    for (let cell = 0; cell < n; cell += length) { work(cell, walk.at, strides[last]); walk.next(); }
  }

  function multiply(values, scope, factor, cards) {
    const length = cards[scope[scope.length - 1]], other = factor.values;
    runs(scope, factor.scope, cards, (cell, at, step) => {
      for (let k = 0; k < length; k++, at += step) values[cell + k] *= other[at];
    });
  }

  function sum(values, scope, kept, cards) {
    const length = cards[scope[scope.length - 1]], result = new Float64Array(size(kept, cards));
    runs(scope, kept, cards, (cell, at, step) => {
      for (let k = 0; k < length; k++, at += step) result[at] += values[cell + k];
    });
    return result;
  }

  /* Share of each bin that lies in [low, high]; an interval beyond the outer edges falls into the outer bin. */
  function overlap({edges, measure}, low, high) {
    const n = edges.length - 1, share = new Float64Array(n);
    if (high <= edges[0] || low >= edges[n]) {
      share[high <= edges[0] ? 0 : n - 1] = 1;
      return share;
    }
    if (measure) {
      const [begin, end] = [low, high].map(x => measured({edges, measure}, x)), ends = edges.map(x => measured({edges, measure}, x));
      return share.map((_, k) => {
        const covered = Math.min(ends[k + 1], end) - Math.max(ends[k], begin), whole = ends[k + 1] - ends[k];
        return whole > 0 ? Math.min(Math.max(covered / whole, 0), 1) : Number(edges[k] >= low && edges[k + 1] <= high);
      });
    }
    for (let k = 0; k < n; k++) {
      const covered = Math.min(edges[k + 1], high) - Math.max(edges[k], low), width = edges[k + 1] - edges[k];
      if (width > 0) share[k] = Math.min(Math.max(covered / width, 0), 1);
      else share[k] = covered === 0 ? 1 : 0; // a bin without width lies in the interval or does not
    }
    return share;
  }

  /* What lies below a number: a share of the column by its shape, or a length where values are spread evenly. */
  function measured({edges, measure}, x) {
    if (!measure) return Math.min(Math.max(x, edges[0]), edges.at(-1));
    return x <= edges[0] ? 0 : x >= edges.at(-1) ? 1 : below(measure, x);
  }

  /* The share of a column below a number, by its shape: straight lines between knots, on the ruler of its digits. */
  function below({lengths, before, step, endings}, x) {
    const length = endings ? digitLength(x, step, endings) : x;
    let low = 0, high = lengths.length - 1;
    if (length <= lengths[low]) return before[low];
    if (length >= lengths[high]) return before[high];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (lengths[middle] <= length) low = middle; else high = middle;
    }
    return before[low] + ((before[high] - before[low]) * (length - lengths[low])) / (lengths[high] - lengths[low]);
  }

  /* The length up to a number where cells of some endings have more weight. */
  function digitLength(x, step, endings) {
    const place = x / step + 0.5, cell = Math.floor(place), cycle = Math.floor(cell / endings.length);
    const ending = cell - cycle * endings.length;
    let total = 0, inside = 0;
    endings.forEach((weight, k) => { if (k === ending) inside = total; total += weight; });
    return step * (cycle * total + inside + (place - cell) * endings[ending]);
  }

  /* The part of a piece that lies between two numbers. */
  function covers(left, right, low, high) {
    return Math.min(Math.max((Math.min(right, high) - Math.max(left, low)) / (right - left), 0), 1);
  }

  /* Parents, children, and the children's other parents. */
  function blanket(variables, i) {
    const found = new Set(variables[i].parents);
    variables.forEach((v, child) => {
      if (v.parents.includes(i)) { found.add(child); v.parents.forEach(p => found.add(p)); }
    });
    found.delete(i);
    return found;
  }

  return {answer, mutilated, measured, overlap, covers, blanket, withTables, ancestors, MOST_CELLS};
})();
