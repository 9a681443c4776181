"use strict";
// What a page can do beyond being read: show one metric at a time, sort and search tables, show definitions and the values of figures, and
// compute leaderboards, widths and power at other numbers of topics. The page is complete without it, and nothing is loaded.
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
    // Links to definitions stay beside the button.
    const marks = [...cell.children].filter((each) => each.matches("a.q"));
    button.append(...[...cell.childNodes].filter((each) => !marks.includes(each)));
    button.addEventListener("click", () => {
      const first = numeric[column];
      if (state.column !== column) Object.assign(state, { column, down: first });
      else if (state.down === first) state.down = !first;
      else Object.assign(state, { column: -1, down: false });
      change();
    });
    cell.append(button, ...marks);
  });
  const markSorted = (heads, state) => heads.forEach((cell, column) => {
    if (column === state.column) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });

  return { make, draw, labelled, option, order, sortable, markSorted };
})();

(() => {
  if (document.getElementById("table")) return; // the overview
  const { make, draw, labelled, option, order, sortable, markSorted } = shared;
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const FEW = 8; // rows from which on a table has a search
  const BEGINNING = 10; // rows of a long table that are shown first
  const BUTTONS = 6; // metrics up to which each has a button

  // ---- The metric that the page shows, with its gain setting; and the collection whose leaderboard it shows.
  const place = document.getElementById("switch");
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
      place.append(labelled("Metric ", make("select", { oninput: (event) => pick(event.target.value) }, ...labels.map((text) => option(text, text)))));
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
      document.querySelector("[data-collection]").before(labelled("Collection ", make("select", {
        oninput: (event) => { collection = event.target.value; pick(picked); },
      }, ...names.map((text) => option(text, text)))));
    }
  };

  // ---- Tables.
  const textOf = (cell) => cell.textContent.trim();
  const numberOf = (text) => {
    const found = Number.parseFloat(text.replace(/[,%<\u2009]/g, ""));
    return Number.isNaN(found) ? null : found;
  };
  const RUNS = ["run", "run a", "run b", "system", "team", "topic", "model", "model a", "model b", "item"];
  // Tables are packed in the page; a click saves them unpacked.
  const unpack = (link) => link.addEventListener("click", async (event) => {
    if (!link.download.endsWith(".gz")) return;
    event.preventDefault();
    const packed = Uint8Array.from(atob(link.href.split(",")[1]), (letter) => letter.charCodeAt(0));
    const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    Object.assign(link, { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: link.download.slice(0, -3) }).click();
  });

  const enhance = (table) => {
    const region = table.parentElement;
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const names = heads.map((cell) => textOf(cell).replace(/ *\?$/, ""));
    if (body.rows.length < 3 || table.allRows) return;
    const rows = [...body.rows].map((node, k) => ({ node, k, texts: [...node.cells].map(textOf), key: node.textContent.toLowerCase() }));
    table.allRows = rows.map((row) => row.node);
    const numeric = heads.map((cell, column) => rows.some((row) => numberOf(row.texts[column]) !== null) && !RUNS.includes(names[column]));
    const state = { column: -1, down: false };
    const metricColumn = names.some((text) => RUNS.includes(text)) ? names.indexOf("metric") : -1;
    let limit = rows.length >= 2 * BEGINNING ? BEGINNING : Infinity;
    const search = make("input", { type: "search", autocomplete: "off", placeholder: names.includes("run") ? "Find a run or team" : names.includes("model") ? "Find a model" : "Find" });
    search.setAttribute("aria-label", `Search: ${region.getAttribute("aria-label")}`);
    const status = make("span", { className: "soft" });
    status.setAttribute("role", "status");
    const more = make("button", { type: "button", textContent: "show all", onclick: () => { limit = limit === Infinity ? BEGINNING : Infinity; show(); } });

    const value = (row, column) => {
      const text = textOf(row.node.cells[column]);
      return numeric[column] ? numberOf(text) : text === "-" ? null : text;
    };
    const accepts = (row) => row.key.includes(search.value.trim().toLowerCase())
      && (metricColumn < 0 || bare(row.texts[metricColumn]) === bare(picked) || !labels.some((each) => bare(each) === bare(row.texts[metricColumn])));
    const show = () => {
      const found = rows.filter(accepts);
      if (state.column >= 0) found.sort((a, b) => order(value(a, state.column), value(b, state.column), state.down) || a.k - b.k);
      body.replaceChildren(...found.slice(0, limit).map((row) => row.node));
      markSorted(heads, state);
      status.textContent = `${Math.min(found.length, limit).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
      more.hidden = found.length <= BEGINNING || rows.length < 2 * BEGINNING;
      more.textContent = limit === Infinity ? "show fewer" : "show all";
    };
    // On paper all rows of what is picked stand.
    addEventListener("beforeprint", () => { const before = limit; limit = Infinity; show(); addEventListener("afterprint", () => { limit = before; show(); }, { once: true }); });
    sortable(heads, state, show, numeric);
    if (rows.length >= FEW) region.before(make("div", { className: "tools" }, search, status, more));
    search.addEventListener("input", show);
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

  // ---- Definitions: the text stands at the end of the page; here it is shown beside its question mark.
  const definitions = () => {
    const tip = make("div", { className: "tip", hidden: true });
    document.body.append(tip);
    const show = (mark) => {
      tip.textContent = document.getElementById(mark.getAttribute("href").slice(1)).textContent;
      tip.hidden = false;
      const box = mark.getBoundingClientRect();
      tip.style.left = `${Math.max(8, Math.min(box.left - 20, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${box.bottom + 6}px`;
    };
    const hide = () => { tip.hidden = true; };
    for (const mark of all("a.q")) {
      for (const kind of ["pointerenter", "focus"]) mark.addEventListener(kind, () => show(mark));
      for (const kind of ["pointerleave", "blur"]) mark.addEventListener(kind, hide);
      mark.addEventListener("click", (event) => { event.preventDefault(); event.stopPropagation(); show(mark); });
    }
    addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    addEventListener("scroll", hide, { passive: true });
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
          if (distance < least) [best, least] = [point, distance];
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
        at = (at + step + points.length) % points.length;
        show(points[at]);
      });
      onPick.push(() => { for (const point of load()) point.group.dim(labels.includes(point.name) && bare(point.name) !== bare(picked)); });
    }
  };
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
        const group = { dim: (dim) => { for (const each of groups) each.classList.toggle("dim", dim); } };
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

  // ---- Sliders of the number of topics.
  const slide = (numbers, own, change) => {
    const words = make("output");
    const input = make("input", { type: "range", min: 0, max: numbers.length - 1, step: 1, value: numbers.indexOf(own) });
    const show = () => {
      const n = numbers[Number(input.value)];
      words.textContent = `${n.toLocaleString("en")} topics${n === own ? ", as in the study" : ""}`;
      input.setAttribute("aria-valuetext", words.textContent);
      change(Number(input.value), n);
    };
    input.addEventListener("input", show);
    const reset = make("button", { type: "button", textContent: "As in the study", onclick: () => { input.value = numbers.indexOf(own); show(); } });
    return { show, node: make("div", { className: "tools" }, make("label", { className: "slider" }, "Number of topics: ", words, make("br"), input), reset) };
  };
  const percent = (value, low, high) => Math.max(0, Math.min(100, (100 * (value - low)) / (high - low || 1)));

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
    if (!(half > 0)) return 3;
    let exponent = Math.floor(Math.log10(half));
    const three = Math.round(half * 10 ** (2 - exponent));
    if (three >= 950) exponent += 1;
    const digits = three < 355 || three >= 950 ? 2 : 1;
    return Math.min(Math.max(digits - 1 - exponent, 0), 6);
  };
  // The leaderboard of the page with the rank sets and intervals of another number of topics.
  const leaderboard = (parts, holder) => {
    const draws = (bar, low, high, at) => {
      for (const [name, value] of [["--l", low], ["--w", high - low], ["--p", at]]) bar.style.setProperty(name, value.toFixed(1));
    };
    const change = (part) => (place) => {
      for (const cell of part.cells) {
        const board = all(".board").find((each) => each.dataset.metric === cell.label && (each.dataset.collection ?? part.collection) === part.collection);
        const table = board?.querySelector("table");
        if (!table) continue;
        const [first, last] = rankLimits(cell, place);
        const factor = part.factors[place];
        const known = (k) => cell.below[k] !== null && cell.above[k] !== null;
        const least = Math.min(...cell.mean.map((mean, k) => (known(k) ? mean - cell.below[k] : mean)));
        const most = Math.max(...cell.mean.map((mean, k) => (known(k) ? mean + cell.above[k] : mean)));
        [...(table.allRows ?? table.tBodies[0].rows)].forEach((row, k) => {
          const [means, ranks] = row.querySelectorAll("td.bar");
          const count = cell.order.length;
          draws(ranks.querySelector("i"), percent(first[k] - 1, 0, count), percent(last[k], 0, count), percent(k + 0.5, 0, count));
          ranks.querySelector("span").textContent = first[k] === last[k] ? first[k] : `${first[k]}–${last[k]}`;
          if (!known(k)) return;
          const [low, high] = [cell.mean[k] - factor * cell.below[k], cell.mean[k] + factor * cell.above[k]];
          const places = decimalsOf((high - low) / 2);
          draws(means.querySelector("i"), percent(low, least, most), percent(high, least, most), percent(cell.mean[k], least, most));
          means.querySelector("b").textContent = fixed(cell.mean[k], places);
          means.querySelector("span").textContent = high > low ? `${fixed(low, places)}–${fixed(high, places)}` : "";
        });
      }
    };
    holder.append(make("p", { className: "soft", textContent: `Rank sets and intervals above, if the same runs had the same means and variances over another number of topics. Rank sets (${parts[0].percent}%) keep the critical value of this study's test, at other degrees of freedom. Means keep their noise: more topics than in the study may separate fewer runs than shown.` }));
    for (const part of parts) {
      if (parts.length > 1) holder.append(make("p", { textContent: part.collection }));
      holder.append(slide(part.numbers, part.n, change(part)).node);
      holder.querySelector("output:empty")?.replaceChildren(`${part.n} topics, as in the study`);
    }
  };

  const design = (parts, holder) => {
    const difference = make("input", { type: "number", min: 0.001, step: 0.001, value: parts[0].difference });
    const alpha = parts[0].alpha;
    holder.append(make("p", { className: "soft", textContent: `Expected width of the ${100 * (1 - alpha)}% interval for the difference of two systems, each with topics of its own or both with the same ones, and the power of the paired t test to detect the difference at alpha ${alpha}.` }), labelled("Difference ", difference));
    for (const part of parts) {
      const body = make("tbody");
      const heads = ["metric", "power", "width", "width, same topics"].map((text) => make("th", { scope: "col", textContent: text }));
      const made = slide(part.numbers, part.n, (_, n) => {
        const delta = Math.max(0, Number(difference.value));
        body.replaceChildren(...part.cells.map((cell) => {
          const known = cell.residual !== null; // not of a single run
          const power = !known ? null : cell.residual > 0 ? powerT(n, (n * delta ** 2) / (2 * cell.residual), part.alpha) : 1;
          return make("tr", {}, make("th", { scope: "row", textContent: cell.label }), ...[power, expectedWidth(n, cell.variance, part.alpha), known ? expectedWidth(n, cell.residual, part.alpha) : null].map((each) => make("td", { className: "number", textContent: fixed(each) })));
        }));
      });
      if (parts.length > 1) holder.append(make("p", { textContent: part.collection }));
      const table = make("div", { className: "scroll", tabIndex: 0 }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
      table.setAttribute("role", "region");
      table.setAttribute("aria-label", `Widths and power, ${part.collection}`);
      holder.append(made.node, table);
      difference.addEventListener("input", made.show);
      made.show();
    }
  };

  // ---- Contents: where the reader is.
  const contents = () => {
    const links = all("nav a");
    const targets = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    const show = () => {
      const last = targets.findLastIndex((each) => each && each.getBoundingClientRect().top < Math.min(160, innerHeight / 3));
      links.forEach((link, k) => (k === Math.max(0, last) ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    };
    addEventListener("scroll", show, { passive: true });
    show();
  };

  switches();
  tables();
  all(".files a").forEach(unpack);
  definitions();
  figures();
  pick(picked);
  contents();
  for (const [name, make_] of [["slider", leaderboard], ["panel", design]]) {
    for (const holder of all(`[data-${name}]`)) {
      const parts = data[holder.dataset[name]];
      if (parts) holder.closest("details").addEventListener("toggle", () => make_(parts, holder), { once: true });
      else holder.closest("details").hidden = true;
    }
  }
})();
