"use strict";
// What a page can do beyond being read: show one metric at a time, and sort tables. The page is complete without it, and nothing is loaded.
// All texts reach the page as text, never as markup.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  };
  const labelled = (text, control) => make("label", {}, text, control);
  const choice = (words, change) => make("select", { oninput: (event) => change(event.target.value) }, ...words.map((text) => make("option", { textContent: text, value: text })));
  const BEGINNING = 20; // rows of a long table that are shown first
  const BUTTONS = 6; // metrics up to which each has a button

  // ---- The metric that the page shows, with its gain setting; and the collection whose leaderboard it shows.
  const place = document.getElementById("switch");
  const { run = "run", topic = "topic", collectionWord = "collection" } = place.dataset;
  const labels = JSON.parse(place.dataset.labels ?? "[]");
  const bare = (label) => label.replace(/ \([^()]*\)$/, "");
  const onPick = [];
  let picked = labels[0] ?? "";
  let collection = document.querySelector("[data-collection]")?.dataset.collection;
  // The label among some that is nearest to the picked one; the first where there is none.
  const nearest = (known) => [(each) => each === picked, (each) => bare(each) === bare(picked)].map((fits) => known.find(fits)).find((each) => each !== undefined) ?? known[0];

  const pick = (label) => {
    picked = label;
    for (const group of new Set(all("[data-metric]").map((each) => each.parentElement))) {
      const own = [...group.children].filter((each) => each.dataset.metric !== undefined);
      const shown = nearest(own.map((each) => each.dataset.metric));
      for (const each of own) each.hidden = each.dataset.metric !== shown || (each.dataset.collection ?? collection) !== collection;
    }
    for (const each of all("[data-mark]")) each.classList.toggle("on", each.dataset.mark === nearest([each.dataset.mark, picked]) && bare(each.dataset.mark) === bare(picked));
    for (const each of onPick) each();
  };

  const switches = () => {
    document.body.classList.add("live");
    if (labels.length > BUTTONS) {
      place.append(labelled("Metric ", choice(labels, pick)));
    } else if (labels.length > 1) {
      const buttons = labels.map((text) => make("button", { type: "button", textContent: text, onclick: () => {
        for (const each of buttons) each.setAttribute("aria-pressed", String(each.textContent === text));
        pick(text);
      } }));
      buttons.forEach((each, k) => each.setAttribute("aria-pressed", String(k === 0)));
      const group = make("div", { className: "seg" }, ...buttons);
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Metric");
      place.append(group);
    }
    const names = [...new Set(all("[data-collection]").map((each) => each.dataset.collection))];
    if (names.length > 1) {
      document.querySelector("[data-collection]").before(labelled(`${collectionWord[0].toUpperCase()}${collectionWord.slice(1)} `, choice(names, (name) => { collection = name; pick(picked); })));
    }
  };

  // ---- Tables.
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const textOf = (cell) => cell.textContent.trim();
  const numberOf = (text) => {
    const found = Number.parseFloat(text.replace(/[,%<\u2009]/g, ""));
    return Number.isNaN(found) ? null : found;
  };
  // Missing values stand last in both directions.
  const order = (left, right, down) => {
    if (left === null || right === null) return (left === null) - (right === null);
    const found = typeof left === "number" && typeof right === "number" ? left - right : compare(left, right);
    return down ? -found : found;
  };
  const RUNS = [run, "run a", "run b", "system", "team", topic];

  const enhance = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const names = heads.map((cell) => textOf(cell).replace(/ *\?$/, ""));
    if (body.rows.length < 3 || table.sortable) return;
    table.sortable = true;
    const rows = [...body.rows].map((node, k) => ({ node, k, texts: [...node.cells].map(textOf) }));
    const numeric = heads.map((cell, column) => rows.some((row) => numberOf(row.texts[column]) !== null) && !RUNS.includes(names[column]));
    const state = { column: -1, down: false }; // column -1: the order of the page
    const metricColumn = names.some((text) => RUNS.includes(text)) ? names.indexOf("metric") : -1;
    let wanted = "";
    let limit = rows.length > BEGINNING + 4 ? BEGINNING : Infinity;
    const more = make("button", { type: "button", onclick: () => { limit = limit === Infinity ? BEGINNING : Infinity; show(); } });

    const value = (row, column) => (numeric[column] ? numberOf(row.texts[column]) : row.texts[column] === "-" ? null : row.texts[column]);
    const accepts = (row) => metricColumn < 0 || bare(row.texts[metricColumn]) === bare(picked) || !labels.some((each) => bare(each) === bare(row.texts[metricColumn]));
    const show = () => {
      const found = rows.filter((row) => accepts(row) && row.texts.some((text) => text.toLowerCase().includes(wanted)));
      if (state.column >= 0) found.sort((a, b) => order(value(a, state.column), value(b, state.column), state.down) || a.k - b.k);
      body.replaceChildren(...found.slice(0, limit).map((row) => row.node));
      heads.forEach((cell, column) => {
        if (column === state.column) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
      more.hidden = found.length <= BEGINNING;
      more.textContent = limit === Infinity ? "show fewer" : `all ${found.length.toLocaleString("en")}`;
    };
    heads.forEach((cell, column) => {
      // Links to definitions stay beside the button.
      const marks = [...cell.children].filter((each) => each.matches("a.q"));
      const button = make("button", { type: "button" }, ...[...cell.childNodes].filter((each) => !marks.includes(each)));
      button.addEventListener("click", () => {
        const first = numeric[column];
        if (state.column !== column) Object.assign(state, { column, down: first });
        else if (state.down === first) state.down = !first;
        else Object.assign(state, { column: -1, down: false });
        show();
      });
      cell.append(button, ...marks);
    });
    // On paper all rows of what is picked stand.
    addEventListener("beforeprint", () => { const before = limit; limit = Infinity; show(); addEventListener("afterprint", () => { limit = before; show(); }, { once: true }); });
    if (limit < Infinity) {
      table.parentElement.after(make("div", { className: "tools" }, more));
      const find = make("input", { type: "search", placeholder: `Find a ${names.find((text) => RUNS.includes(text)) ?? "row"}`, oninput: () => { wanted = find.value.trim().toLowerCase(); show(); } });
      find.setAttribute("aria-label", find.placeholder);
      if (table.closest(".board")) table.parentElement.before(make("div", { className: "tools" }, find));
    }
    onPick.push(show);
    show();
  };

  const tables = () => {
    for (const table of all("main .scroll > table")) {
      if (!table.tHead?.rows.length) continue;
      const folded = table.closest("details:not([open])");
      if (folded) folded.addEventListener("toggle", () => enhance(table), { once: true });
      else enhance(table);
    }
    // Paper has no folds.
    addEventListener("beforeprint", () => { for (const each of all("details:not([open]):not(.screen)")) { each.open = true; each.dataset.printed = ""; } });
    addEventListener("afterprint", () => { for (const each of all("[data-printed]")) { each.open = false; delete each.dataset.printed; } });
  };

  switches();
  tables();
  pick(picked);
})();
