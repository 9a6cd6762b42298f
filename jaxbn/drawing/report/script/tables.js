/* Conditional tables: all rows, in the order of any column, and as a CSV file. */
const Tables = (() => {
  const MOST_ROWS = 200;

  /* Turns the table inside <details> into one that can be sorted, when it is opened. */
  function create(details, variables, i) {
    const variable = variables[i], parents = variable.parents.map(p => variables[p]);
    if (variable.table === null || !details.querySelector("table")) return;
    const heads = [...parents.map(p => p.name), ...variable.states], n = variable.table.length / variable.card;
    const tools = Cards.html("p", {className: "table-tools"}, Cards.html("button", {
      type: "button", onclick: () => download(`${variable.name}.csv`, csv(heads, n, cell)),
    }, "Download CSV"));
    let column = -1, falling = false;
    details.addEventListener("toggle", () => { if (details.open && !tools.isConnected) { details.querySelector(".scroll").before(tools); show(); } });

    /* A cell of the table: the state of a parent, or a chance. */
    function cell(row, k) {
      if (k >= parents.length) return variable.table[row * variable.card + k - parents.length];
      const step = parents.slice(k + 1).reduce((product, p) => product * p.card, 1);
      return Math.floor(row / step) % parents[k].card;
    }

    function show() {
      const order = Array.from({length: n}, (_, row) => row);
      if (column >= 0) order.sort((a, b) => (cell(a, column) - cell(b, column)) * (falling ? -1 : 1) || a - b);
      const head = Cards.html("tr", {}, ...heads.map((text, k) => Cards.html(
        "th", {className: k < parents.length ? "" : "number", "aria-sort": k !== column ? "none" : falling ? "descending" : "ascending"},
        Cards.html("button", {type: "button", className: "sort", onclick: () => sort(k)}, `${text}${k !== column ? "" : falling ? " ▼" : " ▲"}`))));
      const rows = order.slice(0, MOST_ROWS).map(row => Cards.html("tr", {}, ...heads.map((_, k) => (k < parents.length
        ? Cards.html("td", {}, parents[k].states[cell(row, k)])
        : Cards.html("td", {className: "number", style: `--p: ${(100 * cell(row, k)).toFixed(1)}%`}, cell(row, k).toFixed(3))))));
      details.querySelector(".scroll").replaceChildren(
        Cards.html("table", {className: "chances"}, Cards.html("thead", {}, head), Cards.html("tbody", {}, ...rows)));
    }

    /* Chances begin with the largest. */
    function sort(k) {
      falling = k === column ? !falling : k >= parents.length;
      column = k;
      show();
      details.querySelectorAll(".sort")[k].focus();
    }

    function csv(names, rows, value) {
      const quoted = text => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const line = row => names.map((_, k) => (k < parents.length ? quoted(parents[k].states[value(row, k)]) : String(value(row, k)))).join(",");
      return [names.map(quoted).join(","), ...Array.from({length: rows}, (_, row) => line(row))].join("\r\n") + "\r\n";
    }
  }

  function download(name, text) {
    const link = Cards.html("a", {href: URL.createObjectURL(new Blob([text], {type: "text/csv"})), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    document.documentElement.dataset.downloaded = text;
  }

  return {create};
})();
