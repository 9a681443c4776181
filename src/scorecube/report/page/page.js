"use strict";
// What a page can do beyond being read: sort, search and filter tables, pick metrics and runs, show the values of figures, and compute
// leaderboards, widths and power at other numbers of topics. The page is complete without it, and nothing is loaded.
// All texts reach the page as text, never as markup.

// ---- Elements and tables; the overview of many collections uses them, too.
const shared = (() => {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const SVG = "http://www.w3.org/2000/svg";

  const fill = (made, attributes, children) => {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key in made && key !== "list" && made.namespaceURI !== SVG) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const labelled = (text, control) => make("label", {}, text, make("br"), control);
  const option = (text, value) => make("option", { textContent: text, value });

  // Missing values stand last in both directions.
  const order = (left, right, down) => {
    if (left === null || right === null) return (left === null) - (right === null);
    const found = typeof left === "number" && typeof right === "number" ? left - right : compare(left, right);
    return down ? -found : found;
  };

  // Make headings of columns buttons that sort; `state` is {column, down}, and column -1 the order of the page.
  const sortable = (heads, state, change, numeric) => heads.forEach((cell, column) => {
    const button = make("button", { type: "button" });
    button.append(...cell.childNodes);
    button.addEventListener("click", () => {
      const first = numeric[column];
      if (state.column !== column) Object.assign(state, { column, down: first });
      else if (state.down === first) state.down = !first;
      else Object.assign(state, { column: -1, down: false });
      change();
    });
    cell.append(button);
  });
  const markSorted = (heads, state) => heads.forEach((cell, column) => {
    if (column === state.column) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });

  return { make, draw, labelled, option, order, sortable, markSorted };
})();

(() => {
  const { make, draw, labelled, option, order, sortable, markSorted } = shared;
  const source = document.getElementById("data");
  const data = source && document.querySelector("main") && !document.getElementById("table") ? JSON.parse(source.textContent) : {};
  const FEW = 8; // rows from which on a table has a search
  const BEGINNING = 10; // rows of a long table that are shown first
  const CHOICES = 30; // values of a column up to which one is chosen from a list

  // ---- Picked metrics and runs: null for all.
  const picked = { metric: null, run: null };
  const onPick = [];
  const isPicked = (kind, name) => picked[kind] === null || picked[kind].has(name);
  const metricOf = (label) => metrics.find((each) => label === each || label.startsWith(`${each} (`));
  const metricPicked = (label) => { const found = metricOf(label); return found === undefined || isPicked("metric", found); };

  // ---- Tables.
  const textOf = (cell) => cell.textContent.trim();
  const numberOf = (text) => {
    const found = Number(text.replace(/[,%<\u2009]/g, ""));
    return text === "" || Number.isNaN(found) ? null : found;
  };
  const headings = (table) => [...table.tHead.rows[0].cells].map(textOf);

  const METRIC = "metric";
  const RUNS = ["run", "run a", "run b", "system"];
  const valuesOf = (names) => {
    const found = new Set();
    for (const table of document.querySelectorAll("main .scroll > table")) {
      if (!table.tHead?.rows.length) continue;
      const columns = headings(table).flatMap((text, place) => (names.includes(text) ? [place] : []));
      for (const row of columns.length ? table.tBodies[0].rows : []) for (const place of columns) found.add(textOf(row.cells[place]));
    }
    found.delete("-");
    return found;
  };
  const boards = Object.values(data).flat();
  const metricNames = valuesOf([METRIC]);
  const runNames = valuesOf(RUNS);
  for (const board of boards) {
    for (const cell of board.cells) metricNames.add(cell.metric);
    for (const run of board.runs ?? []) runNames.add(run);
  }
  // With its gains a metric has a longer label, which is no metric of its own.
  const metrics = [...metricNames].filter((name) => ![...metricNames].some((each) => name !== each && name.startsWith(`${each} (`)));
  const runs = [...runNames].sort((a, b) => order(a, b, false));

  const enhance = (table) => {
    const region = table.parentElement;
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const names = headings(table);
    if (body.rows.length < 3) return;
    const rows = [...body.rows].map((node) => ({ node, texts: [...node.cells].map(textOf), key: node.textContent.toLowerCase() }));
    const numeric = heads.map((cell, column) => cell.classList.contains("number") && rows.some((row) => numberOf(row.texts[column]) !== null));
    const state = { column: -1, down: false };
    const metricColumn = names.indexOf(METRIC);
    const runColumns = names.flatMap((text, place) => (RUNS.includes(text) ? [place] : []));
    let limit = Infinity;
    let tools = null;

    const value = (row, column) => (numeric[column] ? numberOf(row.texts[column]) : row.texts[column] === "-" ? null : row.texts[column]);
    const wanted = (row) => {
      if (metricColumn >= 0 && !metricPicked(row.texts[metricColumn])) return false;
      if (runColumns.length && !runColumns.some((column) => isPicked("run", row.texts[column]))) return false;
      return tools === null || tools.accepts(row);
    };
    const show = () => {
      const found = rows.filter(wanted);
      if (state.column >= 0) found.sort((a, b) => order(value(a, state.column), value(b, state.column), state.down));
      body.replaceChildren(...found.slice(0, limit).map((row) => row.node));
      markSorted(heads, state);
      if (tools) tools.count(found.length);
    };
    const unlimited = () => { limit = Infinity; region.classList.toggle("tall", rows.length > 40); show(); };

    sortable(heads, state, show, numeric);
    if (rows.length >= FEW) {
      tools = toolbar(region, rows, names, numeric, show, () => limit, unlimited);
      region.before(tools.node);
      // Of a long table the page has the beginning and, folded, all rows: here they are one table.
      if (region.parentElement.matches("details.rows")) {
        const folded = region.parentElement;
        const beginning = folded.previousElementSibling;
        limit = BEGINNING;
        region.classList.remove("tall");
        region.setAttribute("aria-label", beginning.getAttribute("aria-label"));
        folded.firstElementChild.remove();
        beginning.remove();
        folded.replaceWith(...folded.childNodes);
      }
      show();
    }
    onPick.push(show);
  };

  const toolbar = (region, rows, names, numeric, show, limit, unlimited) => {
    const search = make("input", { type: "search", autocomplete: "off" });
    const column = make("select", {}, option("any column", ""));
    names.forEach((text, place) => column.append(option(text, place)));
    const from = make("input", { type: "number", step: "any" });
    const to = make("input", { type: "number", step: "any" });
    const chosen = make("select");
    const range = [labelled("from", from), labelled("to", to)];
    const choice = labelled("value", chosen);
    const status = make("p", { className: "soft" });
    status.setAttribute("role", "status");
    const all = make("button", { type: "button", textContent: `Show all ${rows.length.toLocaleString("en")} rows`, onclick: unlimited });
    const place = () => (column.value === "" ? -1 : Number(column.value));

    const adapt = () => {
      const at = place();
      const values = at < 0 || numeric[at] ? [] : [...new Set(rows.map((row) => row.texts[at]))].sort((a, b) => order(a, b, false));
      const listed = values.length > 1 && values.length <= CHOICES;
      chosen.replaceChildren(option("any", ""), ...values.slice(0, CHOICES).map((text) => option(text, text)));
      for (const each of range) each.hidden = at < 0 || !numeric[at];
      choice.hidden = !listed;
      from.value = to.value = "";
    };
    const clear = make("button", {
      type: "button", textContent: "Clear",
      onclick: () => { search.value = column.value = ""; adapt(); show(); },
    });
    for (const each of [search, from, to, chosen]) each.addEventListener("input", show);
    column.addEventListener("input", () => { adapt(); show(); });
    adapt();
    const node = make("div", { className: "tools" },
      labelled("Search", search), labelled("Filter", column), ...range, choice, clear, all, status);
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", `Search and filter: ${region.getAttribute("aria-label")}`);

    const accepts = (row) => {
      const at = place();
      const words = search.value.trim().toLowerCase();
      if (words && !(at < 0 ? row.key : row.texts[at].toLowerCase()).includes(words)) return false;
      if (at < 0) return true;
      if (!numeric[at]) return chosen.value === "" || row.texts[at] === chosen.value;
      const found = numberOf(row.texts[at]);
      return (from.value === "" || (found !== null && found >= Number(from.value)))
        && (to.value === "" || (found !== null && found <= Number(to.value)));
    };
    const count = (found) => {
      const shown = Math.min(found, limit());
      status.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`
        + (shown < found ? `, the first of ${found.toLocaleString("en")}` : "");
      all.hidden = shown >= found;
    };
    return { node, accepts, count };
  };

  const tables = () => {
    for (const table of document.querySelectorAll("main .scroll > table")) {
      if (!table.tHead?.rows.length) continue;
      const folded = table.closest("details:not([open])");
      if (table.parentElement.nextElementSibling?.matches("details.rows")) continue; // the beginning of the next one
      if (!folded || (folded.matches("details.rows") && !folded.parentElement.closest("details:not([open])"))) enhance(table);
      else {
        const outer = folded.matches("details.rows") ? folded.parentElement.closest("details") : folded;
        outer.addEventListener("toggle", () => enhance(table), { once: true });
      }
    }
  };

  // ---- The choice of metrics and runs.
  const choices = (title, kind, names) => {
    const boxes = names.map((name) => ({ name, box: make("input", { type: "checkbox", checked: true }) }));
    const items = boxes.map(({ name, box }) => make("label", { className: "choice" }, box, " ", name));
    const change = () => {
      const chosen = boxes.filter(({ box }) => box.checked).map(({ name }) => name);
      picked[kind] = chosen.length === names.length ? null : new Set(chosen);
      for (const each of onPick) each();
    };
    const set = (checked) => () => {
      boxes.forEach(({ box }, k) => { if (!items[k].hidden) box.checked = checked; });
      change();
    };
    boxes.forEach(({ box }) => box.addEventListener("change", change));
    const made = make("fieldset", {}, make("legend", { textContent: title }));
    if (names.length >= FEW) {
      const search = make("input", { type: "search", autocomplete: "off" });
      search.addEventListener("input", () => {
        const words = search.value.trim().toLowerCase();
        items.forEach((item, k) => { item.hidden = !names[k].toLowerCase().includes(words); });
      });
      made.append(labelled("Name contains", search), " ");
    }
    made.append(
      make("button", { type: "button", textContent: "Pick these", onclick: set(true) }), " ",
      make("button", { type: "button", textContent: "Leave out these", onclick: set(false) }),
      make("div", { className: "choices" }, ...items));
    return made;
  };

  const picker = () => {
    const kinds = [["Metrics", "metric", metrics], ["Runs", "run", runs]].filter(([, , names]) => names.length > 1 && names.length <= 2000);
    if (!kinds.length) return;
    const summary = make("summary", { textContent: `Pick ${kinds.map(([title]) => title.toLowerCase()).join(" and ")}` });
    const made = make("details", { className: "pick" }, summary);
    made.addEventListener("toggle", () => made.append(...kinds.map((kind) => choices(...kind))), { once: true });
    document.querySelector("header").append(made);
  };

  // A leaderboard of its own for each metric: those of metrics that are not picked are hidden.
  const leaderboards = () => {
    for (const head of document.querySelectorAll("main h3, main summary")) {
      const found = /^(?:Leaderboard|Rank sets) by (.+)$/.exec(textOf(head));
      if (found) onPick.push(() => hideHeaded(head, !metricPicked(found[1])));
    }
  };
  const hideHeaded = (head, hidden) => {
    if (head.tagName === "SUMMARY") head.parentElement.hidden = hidden;
    else for (let each = head; each && (each === head || each.matches(".tools, .scroll, p")); each = each.nextElementSibling) each.hidden = hidden;
  };

  // ---- Values of figures.
  const figures = () => {
    const box = make("p", { className: "values", hidden: true });
    box.setAttribute("role", "status");
    document.body.append(box);
    for (const svg of document.querySelectorAll("svg[data-values]")) {
      const drawing = svg.closest(".drawing");
      let found = null;
      const load = () => (found ??= readFigure(svg));
      const mark = draw("circle", { r: 4, class: "mark" });
      let at = -1;
      const show = (point) => {
        at = load().indexOf(point);
        svg.append(mark);
        mark.setAttribute("cx", point.x);
        mark.setAttribute("cy", point.y);
        box.textContent = point.text();
        box.hidden = false;
        const place = mark.getBoundingClientRect();
        box.style.left = `${Math.max(4, Math.min(place.right + 8, innerWidth - box.offsetWidth - 4))}px`;
        box.style.top = `${Math.max(4, place.top - box.offsetHeight - 6)}px`;
      };
      const hide = () => { box.hidden = true; mark.remove(); };
      svg.addEventListener("pointermove", (event) => {
        const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        let best = null;
        let least = 20 ** 2;
        for (const point of load()) {
          const distance = (point.x - here.x) ** 2 + (point.y - here.y) ** 2;
          if (distance < least && !point.group.hidden()) [best, least] = [point, distance];
        }
        if (best) show(best);
        else hide();
      });
      svg.addEventListener("pointerleave", hide);
      drawing.addEventListener("blur", hide);
      drawing.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Escape") hide();
        const points = step ? load() : [];
        if (!points.length) return;
        event.preventDefault();
        for (let tried = 0; tried < points.length; tried += 1) {
          at = (at + step + points.length) % points.length;
          if (!points[at].group.hidden()) break;
        }
        show(points[at]);
      });
      onPick.push(() => { for (const point of load()) point.group.hide(!seriesPicked(point.name)); });
    }
  };
  const seriesPicked = (name) => metricPicked(name) && (!runNames.has(name) || isPicked("run", name));

  // Vertices of a path, or of each marker.
  const verticesOf = (element) => {
    if (element.tagName === "use") return [[Number(element.getAttribute("x")), Number(element.getAttribute("y"))]];
    const numbers = element.getAttribute("d").match(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g) ?? [];
    return Array.from({ length: numbers.length >> 1 }, (_, k) => [Number(numbers[2 * k]), Number(numbers[2 * k + 1])]);
  };
  const tuples = (values, size) => Array.from({ length: values.length / size }, (_, k) => values.slice(size * k, size * (k + 1)));
  // A value that is read from a picture, with the decimals that coordinates of a hundredth of a point bear, of a scale with so much a point.
  const short = (value, step) => {
    const decimals = Math.max(0, Math.min(12, Math.floor(-Math.log10(0.04 * Math.abs(step)))));
    return String(Number(value.toFixed(decimals)) || 0);
  };

  const readFigure = (svg) => {
    const text = svg.dataset.values;
    const cut = text.indexOf(" ");
    const [prefix, axes] = [text.slice(0, cut), JSON.parse(text.slice(cut + 1))];
    return axes.flatMap(([place, left, top, right, bottom, x0, x1, y0, y1, logs, named, xLabel, yLabel, series]) => {
      const value = (share, low, high, log) => (log ? low * (high / low) ** share : low + (high - low) * share);
      // Scales and their inverses.
      const xOf = (x) => value((x - left) / (right - left), x0, x1, logs & 1);
      const yOf = (y) => value((bottom - y) / (bottom - top), y0, y1, logs & 2);
      const share = (found, low, high, log) => (log ? Math.log(found / low) / Math.log(high / low) : (found - low) / (high - low));
      const xAt = (found) => left + (right - left) * share(found, x0, x1, logs & 1);
      const yAt = (found) => bottom - (bottom - top) * share(found, y0, y1, logs & 2);
      const tick = (axis, at, along) => {
        let best = "";
        let least = 6;
        for (const each of svg.querySelectorAll(`g[id*="${axis}tick_"]`)) {
          const mark = each.querySelector("use"); // none where ticks have no length
          const label = each.querySelector("text");
          if (!label) continue;
          const box = label.getBBox();
          const centre = along === "x" ? box.x + box.width / 2 : box.y + box.height / 2;
          const distance = Math.abs((mark ? Number(mark.getAttribute(along)) : centre) - at);
          if (distance < least) [best, least] = [label.textContent.trim(), distance];
        }
        return best;
      };
      const xText = (x, found) => (named & 1 ? tick("x", x, "x") : `${xLabel || "x"} ${found}`);
      const yText = (y, found) => (named & 2 ? tick("y", y, "y") : `${yLabel || "y"} ${found}`);
      const words = (...parts) => parts.filter(Boolean).join("; ");
      const inside = ({ x, y }) => x >= left - 1 && x <= right + 1 && y >= top - 1 && y <= bottom + 1;
      return series.flatMap(([kind, number, name, known]) => {
        const groups = [...svg.querySelectorAll(`[id^="${prefix}${kind}${place}-${number}-"]`)];
        if (!groups.length) return [];
        const group = { hide: (hidden) => { for (const each of groups) each.toggleAttribute("hidden", hidden); }, hidden: () => groups[0].hasAttribute("hidden") };
        const pointOf = (x, y, xFound, yFound) => ({
          x, y, name, group,
          text: () => words(name, ...(named & 2 || kind === "h" ? [yText(y, yFound), xText(x, xFound)] : [xText(x, xFound), yText(y, yFound)])),
        });
        if (kind === "s") {
          return tuples(known ?? [], 4).map(([a, c, b, d]) => {
            const [x, y] = [(xAt(a) + xAt(b)) / 2, (yAt(c) + yAt(d)) / 2];
            const ends = c === d ? [yText(y, c), `${xText(x, a)} to ${b}`] : [xText(x, a), `${yText(y, c)} to ${d}`];
            return { x, y, name, group, text: () => words(name, ...ends) };
          }).filter(inside);
        }
        if (known) return tuples(known, 2).map(([a, b]) => pointOf(xAt(a), yAt(b), a, b)).filter(inside);
        const uses = groups.flatMap((each) => [...each.querySelectorAll("use")]);
        const paths = uses.length ? uses : groups.flatMap((each) => [...each.querySelectorAll("path")]).filter((path) => !path.closest("defs"));
        return paths.flatMap(verticesOf).map(([x, y]) => pointOf(
          x, y, short(xOf(x), xOf(x + 1) - xOf(x)), short(yOf(y), yOf(y + 1) - yOf(y)))).filter(inside);
      });
    });
  };

  // ---- Functions of statistics: the closed forms of scorecube.design.
  const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  const logGamma = (x) => {
    if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - logGamma(1 - x);
    const t = x + 6.5;
    const sum = LANCZOS.reduce((total, each, k) => (k ? total + each / (x - 1 + k) : each), 0);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  };
  // Regularised incomplete beta function, by its continued fraction.
  const beta = (x, a, b) => {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - beta(1 - x, b, a);
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
    const guard = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
    let [c, d] = [1, 1 / guard(1 - ((a + b) * x) / (a + 1))];
    let product = d;
    for (let m = 1; m < 1000; m += 1) {
      for (const term of [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))]) {
        d = 1 / guard(1 + term * d);
        c = guard(1 + term / c);
        product *= c * d;
      }
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    return front * product;
  };
  const bisect = (rising, low, high) => {
    for (let k = 0; k < 200 && high - low > 1e-14 * Math.max(1, high); k += 1) {
      const middle = (low + high) / 2;
      if (rising(middle)) high = middle;
      else low = middle;
    }
    return (low + high) / 2;
  };
  const bothTails = (t, degrees) => beta(degrees / (degrees + t * t), degrees / 2, 0.5);
  const quantileT = (alpha, degrees) => {
    let high = 1;
    while (bothTails(high, degrees) > alpha) high *= 2;
    return bisect((t) => bothTails(t, degrees) <= alpha, 0, high);
  };
  // P(F' > critical) with 1 and n - 1 degrees of freedom: a Poisson mixture of beta functions.
  const powerT = (n, noncentrality, alpha) => {
    const degrees = n - 1;
    const critical = quantileT(alpha, degrees) ** 2;
    const x = degrees / (degrees + critical);
    const half = noncentrality / 2;
    const width = 9 * Math.sqrt(half) + 20;
    let total = 0;
    for (let j = Math.max(0, Math.floor(half - width)); j <= half + width; j += 1) {
      const weight = half ? Math.exp(j * Math.log(half) - half - logGamma(j + 1)) : Number(j === 0);
      total += weight * beta(x, degrees / 2, 0.5 + j);
    }
    return Math.min(1, total);
  };
  // Expected s / sigma of n normal values.
  const c4 = (n) => Math.sqrt(2 / (n - 1)) * Math.exp(logGamma(n / 2) - logGamma((n - 1) / 2));
  const expectedWidth = (n, variance, alpha) => 2 * quantileT(alpha, n - 1) * c4(n) * Math.sqrt((2 * variance) / n);

  // ---- Panels with a slider of the number of topics.
  const bar = (from, to, low, high, point, className) => {
    const place = (value) => (100 * (value - low)) / (high - low || 1);
    const left = Math.max(0, Math.min(place(from), 100));
    const made = draw("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: `bar ${className}`, "aria-hidden": "true" },
      draw("rect", { x: left, y: 3, width: Math.max(0.8, Math.min(place(to), 100) - left), height: 6 }));
    if (point !== null) made.append(draw("rect", { x: place(point) - 0.7, y: 0, width: 1.4, height: 12, class: "point" }));
    return made;
  };
  const cells = (row, texts) => {
    for (const each of texts) {
      const td = make("td", {}, each);
      if (typeof each === "string") td.className = "number";
      row.append(td);
    }
    return row;
  };

  const panel = (anchor, parts, title, about, columns, rowsOf, extra) => {
    const place = document.querySelector(`[data-panel="${CSS.escape(anchor)}"]`);
    const collection = make("select", {}, ...parts.map((part, k) => option(part.collection, k)));
    const slider = make("input", { type: "range", min: 0, step: 1 });
    const words = make("output");
    const body = make("tbody");
    const head = make("tr", {}, ...columns.map(([text, number]) => make("th", { scope: "col", className: number ? "number" : "", textContent: text })));
    const controls = make("div", { className: "tools" });
    const state = { part: parts[0], place: 0 };
    const show = () => {
      const { part } = state;
      state.place = Number(slider.value);
      const n = part.numbers[state.place];
      const text = `${n.toLocaleString("en")} topics${n === part.n ? ", as in the study" : ""}`;
      words.textContent = text;
      slider.setAttribute("aria-valuetext", text);
      body.replaceChildren(...rowsOf(state, n));
    };
    const begin = () => {
      state.part = parts[Number(collection.value)];
      slider.max = state.part.numbers.length - 1;
      slider.value = state.part.numbers.indexOf(state.part.n);
      extra.begin(state.part);
      show();
    };
    if (parts.length > 1) controls.append(labelled("Collection", collection));
    controls.append(...extra.controls, make("label", { className: "slider" }, "Number of topics: ", words, make("br"), slider),
      make("button", { type: "button", textContent: "As in the study", onclick: begin }));
    collection.addEventListener("input", begin);
    for (const each of [slider, ...extra.inputs]) each.addEventListener("input", show);
    const table = make("table", {}, make("thead", {}, head), body);
    const region = make("div", { className: "scroll tall", tabIndex: 0 }, table);
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", `${title}: ${document.getElementById(anchor).textContent}`);
    place.append(make("div", { className: "panel" }, make("h3", { textContent: title }), make("p", { className: "soft", textContent: about }), controls, region));
    begin();
    onPick.push(show);
  };

  // Rank limits of the runs of a metric at a place of the slider, in the order of ranks.
  const rankLimits = (cell, place) => {
    const count = cell.order.length;
    const steps = (cell.bytes ??= Uint8Array.from(atob(cell.steps), (letter) => letter.charCodeAt(0)));
    const [low, high] = [new Array(count).fill(1), new Array(count).fill(count)];
    let pair = 0;
    for (let a = 0; a < count; a += 1) {
      for (let b = a + 1; b < count; b += 1, pair += 1) {
        if (steps[pair] <= place) { low[b] += 1; high[a] -= 1; }
      }
    }
    return [low, high];
  };

  const fixed = (value, places = 4) => (value === null ? "-" : value.toFixed(places).replace(/^-(0\.?0*)$/, "$1"));
  // As of report/columns.py: the decimals that limits with this half-width allow.
  const decimalsOf = (half) => {
    if (!(half > 0)) return 4;
    let exponent = Math.floor(Math.log10(half));
    const three = Math.round(half * 10 ** (2 - exponent));
    if (three >= 950) exponent += 1;
    const digits = three < 355 || three >= 950 ? 2 : 1;
    return Math.min(Math.max(digits - 1 - exponent, 0), 6);
  };
  const leaderboard = (anchor, parts) => {
    const metric = make("select");
    const columns = [["run", false], ["rank set", false], ["interval", false], ["best rank", true], ["worst rank", true], ["mean", true], ["lower limit", true], ["upper limit", true]];
    const rowsOf = ({ part, place }) => {
      const cell = part.cells[Number(metric.value)];
      const [low, high] = rankLimits(cell, place);
      const factor = part.factors[place];
      const limits = cell.mean.map((mean, k) => [
        cell.below[k] === null ? null : mean - factor * cell.below[k], cell.above[k] === null ? null : mean + factor * cell.above[k]]);
      // One scale for all numbers of topics of the slider, up to twice the study's own intervals.
      const ends = cell.mean.flatMap((mean, k) => [mean - 2 * (cell.below[k] ?? 0), mean + 2 * (cell.above[k] ?? 0)]);
      const [least, most] = [Math.min(...ends), Math.max(...ends)];
      return cell.order.flatMap((run, k) => {
        const name = part.runs[run];
        if (!isPicked("run", name)) return [];
        const known = limits[k][0] !== null && limits[k][1] !== null;
        return [cells(make("tr", {}, make("th", { scope: "row", textContent: name })), [
          bar(low[k] - 0.5, high[k] + 0.5, 0.5, cell.order.length + 0.5, null, "ranks"),
          known ? bar(limits[k][0], limits[k][1], least, most, cell.mean[k], "means") : "-",
          String(low[k]), String(high[k]), ...[cell.mean[k], ...limits[k]].map((each) =>
            fixed(each, limits[k][0] === null ? 4 : decimalsOf((limits[k][1] - limits[k][0]) / 2)))])];
      });
    };
    const about = `Rank sets and intervals if the same runs had the same means and variances over another number of topics. Rank sets (${parts[0].percent}%, all runs together) keep the critical value of this study's test, at other degrees of freedom. Means keep their noise: more topics than in the study may separate fewer runs than shown.`;
    panel(anchor, parts, "Leaderboard with another number of topics", about, columns, rowsOf, {
      controls: [labelled("Metric", metric)],
      inputs: [metric],
      begin: (part) => metric.replaceChildren(...part.cells.map((cell, k) => option(cell.label, k))),
    });
  };

  const design = (anchor, parts) => {
    const difference = make("input", { type: "number", min: 0.001, step: 0.001 });
    const columns = [["metric", false], ["power from 0 to 1", false], ["power", true], ["width", true], ["width, same topics", true]];
    const rowsOf = ({ part }, n) => part.cells.filter((cell) => metricPicked(cell.label)).map((cell) => {
      const delta = Math.max(0, Number(difference.value));
      const known = cell.residual !== null; // not of a single run
      const power = !known ? null : cell.residual > 0 ? powerT(n, (n * delta ** 2) / (2 * cell.residual), part.alpha) : 1;
      return cells(make("tr", {}, make("th", { scope: "row", textContent: cell.label })), [
        known ? bar(0, power, 0, 1, null, "means") : "-", fixed(power),
        fixed(expectedWidth(n, cell.variance, part.alpha)), fixed(known ? expectedWidth(n, cell.residual, part.alpha) : null)]);
    });
    const about = `Expected width of the ${100 * (1 - parts[0].alpha)}% interval for the difference of two systems, each with topics of its own or both with the same ones, and the power of the paired t test to detect the difference at alpha ${parts[0].alpha}.`;
    panel(anchor, parts, "Widths and power with another number of topics", about, columns, rowsOf, {
      controls: [labelled("Difference", difference)],
      inputs: [difference],
      begin: (part) => { difference.value = part.difference; },
    });
  };

  tables();
  leaderboards();
  figures();
  for (const [anchor, parts] of Object.entries(data)) (parts[0].runs ? leaderboard : design)(anchor, parts);
  if (!document.getElementById("table")) picker();
})();
