/* Lines inside bins, as jaxbn.model.lines has them: how a number leans inside each of its bins, given the numbers of its
   continuous parents. A bin keeps its chance; what moves is where in the bin its values lie. */
const Lines = (() => {
  const PARTS = 2 ** 20, NODES = Array.from({length: 32}, (_, k) => (k + 0.5) / 32);

  /* Log of the standard normal distribution function: a series around 0, a continued fraction in the tail. */
  function logNormal(z) {
    if (z > 0) return Math.log1p(-normal(-z));
    const height = (-z * z - Math.log(2 * Math.PI)) / 2;
    if (z < -3) {
      let bottom = -z;
      for (let k = 100; k > 0; k--) bottom = -z + k / bottom;
      return height - Math.log(bottom);
    }
    let term = z, sum = z;
    for (let k = 1; Math.abs(term) > 1e-17; k++) sum += term *= z * z / (2 * k + 1);
    return Math.log(0.5 + Math.exp(height) * sum);
  }

  const normal = z => Math.exp(logNormal(z));

  /* Log of the probability between two numbers, by differences in the lower tail, where they are exact. */
  function logMass(low, high) {
    if (low > 0) [low, high] = [-high, -low];
    const above = logNormal(high);
    return above + Math.log(-Math.expm1(logNormal(low) - above));
  }

  /* Its inverse (Acklam, relative error 1e-9), with a step of Halley's method. */
  function quantile(p) {
    if (p <= 0 || p >= 1) return p <= 0 ? -Infinity : Infinity;
    if (p > 0.5) return -quantile(1 - p);
    const z = roughly(p), step = (normal(z) - p) / height(z);
    return z - step / (1 + z * step / 2);
  }

  function roughly(p) {
    const by = (coefficients, x) => coefficients.reduce((sum, c) => sum * x + c, 0);
    if (p < 0.02425) {
      const q = Math.sqrt(-2 * Math.log(p));
      return by([-7.784894002430293e-3, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783], q) /
        by([7.784695709041462e-3, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1], q);
    }
    const q = p - 0.5, r = q * q;
    return q * by([-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239], r) /
      by([-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1], r);
  }

  const height = z => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);

  /* Where bin k of a variable begins and ends, as shares of the whole column. */
  function part(variable, k) {
    const measure = x => Inference.measured(variable, x), first = measure(variable.edges[0]), whole = measure(variable.edges.at(-1)) - first;
    return [k, k + 1].map(j => (measure(variable.edges[j]) - first) / whole);
  }

  /* The scores of a column: numbers or their logarithms, by a ruler [log, centre, spread]; without one, normal scores of
     shares of the column. */
  const scoreOf = ([log, centre, spread], x) => ((log ? Math.log(x) : x) - centre) / spread;
  const numberOf = ([log, centre, spread], z) => (log ? Math.exp(centre + spread * z) : centre + spread * z);

  /* The mean score of what a number stands for, its recorded cell or a small part around it: inside its bin, or in the
     whole column. */
  function score(variable, value, column, ruler) {
    const k = Known.binOf(variable, value), [left, right] = [variable.edges[k], variable.edges[k + 1]], {step} = variable;
    if (ruler) {
      const within = x => scoreOf(ruler, Math.min(Math.max(x, left), right)), at = step ? Math.floor(value / step + 0.5) * step : value;
      return step ? (within(at - step / 2) + within(at + step / 2)) / 2 : within(at);
    }
    const measure = x => Inference.measured(variable, Math.min(Math.max(x, left), right));
    const whole = measure(right) - measure(left);
    if (!(whole > 0)) return 0;
    const share = x => Math.min(Math.max((measure(x) - measure(left)) / whole, 0), 1), cell = step ? Math.floor(value / step + 0.5) : 0;
    let [low, high] = step ? [share((cell - 0.5) * step), share((cell + 0.5) * step)] : [share(value), share(value)];
    if (high - low < 1 / PARTS) {
      const part = Math.min(Math.floor(low * PARTS), PARTS - 1);
      [low, high] = [part / PARTS, (part + 1) / PARTS];
    }
    if (column) {
      const [begin, end] = part(variable, k);
      [low, high] = [low, high].map(share => begin + share * (end - begin));
    }
    return (height(quantile(low)) - height(quantile(high))) / (high - low);
  }

  /* Mean and scale of the scores in each bin of variable i, or null where it has no line or not all it needs is a number.
     `known` has numbers as {value}; `states` the one state that a variable has, where only one is possible. */
  function lean(variables, i, known, states) {
    const {line, parents, card} = variables[i];
    if (!line?.parents.length || known.has(i) || !line.parents.every(p => known.get(p)?.value !== undefined)) return null;
    const scores = line.parents.map((p, j) => score(variables[p], known.get(p).value, line.column, line.rulers?.[j + 1]));
    const family = parents.every(p => states.has(p)) ? parents.reduce((cell, p) => cell * variables[p].card + states.get(p), 0) : -1;
    const bins = Array.from({length: card}, (_, k) => {
      const own = family < 0 ? -1 : line.cells.indexOf(line.column ? family : family * card + k), place = own < 0 ? line.cells.length : own;
      const [first, ...slopes] = line.coefficients[place];
      const [begin, end] = line.column ? part(variables[i], k) : [0, 1];
      return {mean: slopes.reduce((sum, b, j) => sum + b * scores[j], first), scale: line.scales[place], begin, end};
    });
    return {bins, off: line.off, ruler: line.rulers?.[0], by: line.parents.map(p => variables[p].name)};
  }

  /* The pieces of a density {left, right, chance}, bin by bin, spread again as the values lean. */
  function leaning(parts, bins, {bins: leans, off, ruler}) {
    return leans.flatMap(({mean, scale, begin, end}, k) => {
      const own = parts.filter((_, j) => bins[j] === k), whole = own.reduce((sum, part) => sum + part.chance, 0);
      if (!(whole > 0)) return own;
      const ends = [0];
      for (const part of own) ends.push(ends.at(-1) + part.chance / whole);
      const at = share => {
        const j = Math.max(ends.findIndex(end => end >= share) - 1, 0), part = own[j], width = ends[j + 1] - ends[j];
        return width > 0 ? part.left + ((share - ends[j]) / width) * (part.right - part.left) : part.left;
      };
      const shareBelow = x => own.reduce((sum, {left, right, chance}) => sum + (chance / whole) * (right > left ? Inference.covers(left, right, left, x) : 0), 0);
      const scoreAt = share => (ruler ? scoreOf(ruler, at(Math.min(share, ends.at(-1)))) : quantile(begin + share * (end - begin)));
      const shareAt = z => (ruler ? shareBelow(numberOf(ruler, z)) : (normal(z) - begin) / (end - begin));
      const standard = share => (scoreAt(share) - mean) / scale, side = standard(0) > 0 ? -1 : 1;
      const mass = share => normal(side * standard(share)), [first, all] = [mass(0), mass(1) - mass(0)];
      if (!(Math.abs(all) > 1e-30)) return own; // the line is too far away to tell anything here
      const below = share => off * share + (1 - off) * (mass(share) - first) / all;
      const onLine = chance => shareAt(mean + scale * side * quantile(first + chance * all));
      const cuts = [...ends.slice(1, -1), ...NODES.map(onLine)].filter(c => c > 0 && c < 1).sort((a, b) => a - b)
        .filter((c, j, all) => j === 0 || c - all[j - 1] > 1e-5);
      const shares = [0, ...cuts, 1], places = [own[0].left, ...cuts.map(at), own.at(-1).right];
      return shares.slice(1).map((end, j) => ({
        left: places[j], right: places[j + 1], chance: whole * ((end < 1 ? below(end) : 1) - (shares[j] > 0 ? below(shares[j]) : 0)),
      })).filter(part => part.right > part.left);
    });
  }

  /* The network with the tables of variables of which a range is known weighed by what their lines say of it. */
  function toldByRanges(variables, known) {
    return variables.map((variable, i) => {
      const range = known.get(i)?.range;
      if (!range || !variable.line || !variable.table) return variable;
      const ratio = rangeRatios(variables, variable, range);
      return {...variable, table: variable.table.map((chance, cell) => chance * ratio(cell))};
    });
  }

  /* How much more probable a range is in a cell of a variable's table than without its line: `range_ratios` of
     jaxbn.model.lines.rows, where the places of parents are summed out. */
  function rangeRatios(variables, variable, [low, high]) {
    const {line, parents, card, edges} = variable, measure = x => Inference.measured(variable, x), ruler = line.rulers?.[0];
    const places = new Map(line.cells.map((cell, k) => [cell, k]));
    const bins = Array.from({length: card}, (_, k) => {
      const [left, right] = [edges[k], edges[k + 1]], first = measure(left), whole = measure(right) - first;
      const [begin, end] = line.column ? part(variable, k) : [0, 1];
      const [from, to] = [low, high].map(x => Math.min(Math.max(whole > 0 ? (measure(x) - first) / whole : 0, 0), 1));
      const scores = ruler ? [low, high, left, right].map(x => scoreOf(ruler, Math.min(Math.max(x, left), right)))
        : [from, to, 0, 1].map(share => quantile(begin + share * (end - begin)));
      return {scores, share: to - from};
    });
    return cell => {
      const {scores, share} = bins[cell % card];
      if (!(share > 0 && share < 1)) return 1; // nothing of the bin, or all of it
      let rest = Math.floor(cell / card);
      const place = places.get(line.column ? rest : cell) ?? line.cells.length, [first, ...slopes] = line.coefficients[place];
      let mean = first, variance = line.scales[place] ** 2;
      for (let k = parents.length - 1; k >= 0; rest = Math.floor(rest / variables[parents[k]].card), k--) {
        const j = line.parents.indexOf(parents[k]);
        if (j < 0) continue;
        const [means, variances] = line.moments[j], state = rest % variables[parents[k]].card;
        mean += slopes[j] * means[state];
        variance += slopes[j] ** 2 * variances[state];
      }
      const [from, to, left, right] = scores.map(z => (z - mean) / Math.sqrt(variance));
      return line.off + (1 - line.off) * Math.exp(logMass(from, to) - logMass(left, right)) / share;
    };
  }

  return {lean, leaning, score, normal, quantile, toldByRanges};
})();
