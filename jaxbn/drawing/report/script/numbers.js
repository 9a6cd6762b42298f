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

  const DAY = 86400, pad = (value, digits = 2) => String(value).padStart(digits, "0");

  /* The number that a word stands for, NaN for none: days since 1970 for a date, seconds for a time or a duration. */
  function read({unit}, word) {
    const text = word.trim(), clock = /^(-?)(?:(\d+) days?)?\s*(?:(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?)?$/.exec(text);
    if (unit === "duration" && text && clock) {
      const [days, hours, minutes, seconds] = clock.slice(2).map(part => Number(part ?? 0));
      return (clock[1] ? -1 : 1) * (days * DAY + hours * 3600 + minutes * 60 + seconds);
    }
    const dated = /^(\d{4}(?:-\d\d(?:-\d\d)?)?)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/.exec(text);
    if (!unit || unit === "duration" || !dated) return text === "" ? NaN : Number(text);
    const seconds = Date.parse(`${dated[1].padEnd(10, "-01")}T${dated[2] ?? "00:00"}Z`) / 1000; // 2020 is 2020-01-01
    return unit === "date" ? seconds / DAY : seconds;
  }

  /* A number as people write it: no digits of the arithmetic, and dates as dates. */
  function write({unit}, value) {
    if (!unit) return String(Number(value.toPrecision(10)));
    if (unit === "date") return new Date(Math.floor(value + 0.5) * DAY * 1000).toISOString().slice(0, 10);
    const whole = Math.round(Math.abs(value)), [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    if (unit === "duration") return `${value < 0 ? "-" : ""}${hours}:${pad(minutes)}:${pad(seconds)}`;
    const iso = new Date(Math.round(value) * 1000).toISOString(), time = iso.slice(11, seconds ? 19 : 16);
    return iso.slice(0, 10) + (time === "00:00" ? "" : ` ${time}`);
  }

  /* Round numbers between the ends of a variable, or first days of years, or other dates: [[number, text], …]. */
  function marks(variable) {
    const [low, high] = [variable.edges[0], variable.edges.at(-1)], {unit} = variable;
    if (!unit) return ticks(low, high).map(tick => [tick, String(tick)]);
    if (unit === "duration") return ticks(low / 3600, high / 3600, 3).map(hours => [hours * 3600, write(variable, hours * 3600)]);
    const day = unit === "date" ? 1 : DAY, [first, last] = [low, high].map(end => new Date((end / day) * DAY * 1000).getUTCFullYear());
    const years = ticks(first, last).filter(Number.isInteger).map(year => [read(variable, `${pad(year, 4)}-01-01`), String(year)]);
    const inside = years.filter(([place]) => place >= low && place <= high);
    return inside.length > 1 ? inside : ticks(low / day, high / day, 2).map(days => [days * day, write(variable, days * day)]);
  }

  return {percentages, percent, pair, ticks, read, write, marks};
})();
