/* Numbers with the fewest digits that tell them apart. */
const Numbers = (() => {
  /* Chances as percentages: as few decimals as keep different ones different, at most 2. */
  function percentages(chances) {
    for (let decimals = 0; decimals < 2; decimals++) {
      const texts = chances.map(p => percent(p, decimals)), seen = new Map();
      const clash = chances.some((p, k) => {
        const other = seen.get(texts[k]);
        seen.set(texts[k], p);
        return (other !== undefined && Math.abs(other - p) > 1e-9) || (p > 1e-9 && Number(p.toFixed(decimals + 2)) === 0);
      });
      if (!clash) return texts;
    }
    return chances.map(p => percent(p, 2));
  }

  function percent(chance, decimals) {
    const least = 10 ** -decimals;
    if (chance > 0 && 100 * chance < least / 2) return `<${least.toFixed(decimals)}%`;
    if (chance < 1 && 100 * (1 - chance) < least / 2) return `>${(100 - least).toFixed(decimals)}%`;
    return `${(100 * chance).toFixed(decimals)}%`;
  }

  /* Two numbers with as few digits as tell them apart, or 3 where they do not differ; `span` is the scale they are on. */
  function pair(a, b, span) {
    let digits = Math.max(0, 2 - Math.floor(Math.log10(span || 1)));
    digits = Math.min(digits, 12);
    const small = value => value !== 0 && Math.abs(value) < 10 ** (1 - digits); // of a skewed column: two digits at least
    return [a, b].map(value => String(Number(small(value) ? value.toPrecision(2) : value.toFixed(digits))));
  }

  /* Round numbers between two ends. */
  function ticks(low, high, most = 5) {
    if (!(high > low)) return [low];
    const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(m => m * unit).find(s => s >= rough * (1 - 1e-9));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  return {percentages, percent, pair, ticks};
})();
