"use strict";
// Search, sort and filter of the table of collections. All texts reach the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const STEP = 100;
  const rows = data.rows.map(([name, page, cautions, sizes, numbers]) => ({
    name, page, cautions, numbers: sizes.concat(numbers), key: name.toLowerCase(),
  }));
  const state = { column: -1, down: false, limit: STEP };
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;

  const option = (text, value) => {
    const made = document.createElement("option");
    made.textContent = text;
    made.value = value;
    return made;
  };
  data.cautions.forEach((text, place) => byId("caution").append(option(text, place)));
  data.columns.forEach((text, place) => byId("column").append(option(text, place)));

  const whole = data.columns.map((_, place) => rows.every((row) => row.numbers[place] === null || Number.isInteger(row.numbers[place])));
  const shown = (value, place) => {
    if (value === null) return "-";
    return whole[place] ? value.toLocaleString("en") : value.toFixed(4);
  };

  const heads = ["collection"].concat(data.columns).map((text, place) => {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    cell.scope = "col";
    if (place) cell.className = "number";
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => {
      const column = place - 1;
      state.down = state.column === column ? !state.down : column >= 0;
      state.column = column;
      show(true);
    });
    cell.append(button);
    return cell;
  });
  const line = document.createElement("tr");
  line.append(...heads);
  byId("table").tHead.append(line);

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
    const sign = state.down ? -1 : 1;
    const by = state.column;
    return found.sort((a, b) => {
      if (by < 0) return sign * compare(a.name, b.name);
      const [left, right] = [a.numbers[by], b.numbers[by]];
      if (left === null || right === null) return (left === null) - (right === null); // those without stand last
      return sign * (left - right) || compare(a.name, b.name);
    });
  };

  const rowOf = (row) => {
    const made = document.createElement("tr");
    const first = document.createElement("th");
    const link = document.createElement("a");
    first.scope = "row";
    link.href = encodeURI(row.page);
    link.textContent = row.name;
    first.append(link);
    made.append(first);
    row.numbers.forEach((value, place) => {
      const cell = document.createElement("td");
      cell.className = "number";
      cell.textContent = shown(value, place);
      made.append(cell);
    });
    return made;
  };

  const show = (again) => {
    if (again) state.limit = STEP;
    const found = chosen();
    byId("table").tBodies[0].replaceChildren(...found.slice(0, state.limit).map(rowOf));
    heads.forEach((cell, place) => {
      if (place - 1 === state.column) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    const count = found.length.toLocaleString("en");
    byId("shown").textContent = `${count} of ${rows.length.toLocaleString("en")} collections`
      + (found.length > state.limit ? `, the first ${state.limit.toLocaleString("en")} are shown` : "")
      + (data.cut ? `; ${data.cut} further numbers are on the pages of the collections` : "");
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
