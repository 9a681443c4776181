// Search, sort and filter of the table of collections; page.js stands before.
(() => {
  const { make, option, order, sortable, markSorted } = shared;
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const STEP = 100;
  const rows = data.rows.map(([name, page, cautions, sizes, numbers]) => ({
    name, page, cautions, numbers: sizes.concat(numbers), key: name.toLowerCase(),
  }));
  const state = { column: 0, down: false, limit: STEP };

  data.cautions.forEach((text, place) => byId("caution").append(option(text, place)));
  data.columns.forEach((text, place) => byId("column").append(option(text, place)));

  const whole = data.columns.map((_, place) => rows.every((row) => row.numbers[place] === null || Number.isInteger(row.numbers[place])));
  const shown = (value, place) => {
    if (value === null) return "-";
    return whole[place] ? value.toLocaleString("en") : value.toFixed(3);
  };

  const heads = ["collection"].concat(data.columns).map((text, place) => make("th", { scope: "col", className: place ? "number" : "", textContent: text }));
  sortable(heads, state, () => show(true), heads.map((_, place) => place > 0));
  byId("table").tHead.append(make("tr", {}, ...heads));

  const number = (id) => (byId(id).value === "" ? null : Number(byId(id).value));

  const chosen = () => {
    const words = byId("search").value.toLowerCase();
    const caution = byId("caution").value;
    const column = Number(byId("column").value);
    const from = number("from");
    const to = number("to");
    const found = rows.filter((row) => {
      const value = row.numbers[column];
      return row.key.includes(words)
        && (caution === "" || row.cautions.includes(Number(caution)))
        && ((from === null && to === null) || (value !== null && value !== undefined))
        && (from === null || value >= from)
        && (to === null || value <= to);
    });
    const key = (row) => (state.column > 0 ? row.numbers[state.column - 1] : row.name);
    const backwards = state.down && state.column >= 0;
    return found.sort((a, b) => order(key(a), key(b), backwards) || order(a.name, b.name, false));
  };

  const rowOf = (row) => make("tr", {},
    make("th", { scope: "row" }, row.page ? make("a", { href: encodeURI(row.page), textContent: row.name }) : row.name),
    ...row.numbers.map((value, place) => make("td", { className: "number", textContent: shown(value, place) })));

  const show = (again) => {
    if (again) state.limit = STEP;
    const found = chosen();
    byId("table").tBodies[0].replaceChildren(...found.slice(0, state.limit).map(rowOf));
    markSorted(heads, state);
    const count = found.length.toLocaleString("en");
    byId("shown").textContent = `${count} of ${rows.length.toLocaleString("en")} collections`
      + (found.length > state.limit ? `, the first ${state.limit.toLocaleString("en")} are shown` : "")
      + (data.cut ? `; ${data.cut} further numbers are in the reports of the collections` : "");
    byId("more").hidden = found.length <= state.limit;
  };

  for (const id of ["search", "caution", "column", "from", "to"]) byId(id).addEventListener("input", () => show(true));
  byId("clear").addEventListener("click", () => {
    for (const id of ["search", "caution", "from", "to"]) byId(id).value = "";
    show(true);
  });
  byId("more").addEventListener("click", () => {
    state.limit += STEP;
    show(false);
  });
  show(true);
})();
