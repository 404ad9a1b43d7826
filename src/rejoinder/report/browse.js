"use strict";
// The table of replies: search, filter, sort and pages over the data embedded in the page.
// Texts are inserted by textContent only, so a reply is never parsed as markup.
(() => {
  const source = document.getElementById("replies-data");
  const browser = document.getElementById("browser");
  if (!source || !browser) return;

  const PAGE_SIZE = 25;
  const UNKNOWN = "–";
  const data = JSON.parse(source.textContent);
  const byId = (id) => document.getElementById(id);
  const heads = [...browser.querySelectorAll("th[data-key]")];
  const body = browser.querySelector("tbody");
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const state = { query: "", system: "", slice: "", metric: 0, lowest: "", highest: "", key: null, descending: false, page: 0 };

  const folded = (text) => text.normalize("NFKC").toLowerCase();
  const contextOf = (row) => (data.texts ? data.contexts[row.context] : []);
  const haystack = (row) => {
    const texts = [row.id, data.systems[row.system], row.response || ""];
    return folded(texts.concat(contextOf(row).map((turn) => turn[2])).join("\n"));
  };
  const haystacks = data.rows.map(haystack);
  const columns = new Map(heads.map((head) => [head.dataset.key, valueReader(head.dataset.key)]));

  function valueReader(key) {
    if (key.startsWith("metric-")) {
      const number = Number(key.slice("metric-".length));
      return (row) => row.scores[number];
    }
    return key === "system" ? (row) => data.systems[row.system] : (row) => row[key];
  }

  // Rows without a score come last in both sort directions; equal rows keep the order of the data.
  function compare(a, b) {
    const read = columns.get(state.key);
    const x = read(data.rows[a]);
    const y = read(data.rows[b]);
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    const order = typeof x === "number" ? x - y : collator.compare(x, y);
    return (state.descending ? -order : order) || a - b;
  }

  function matching() {
    const query = folded(state.query.trim());
    const found = [];
    data.rows.forEach((row, number) => {
      if (state.system !== "" && row.system !== Number(state.system)) return;
      if (!inSlice(row) || !inRange(row)) return;
      if (query === "" || haystacks[number].includes(query)) found.push(number);
    });
    return state.key === null ? found : found.sort(compare);
  }

  function inSlice(row) {
    if (state.slice === "") return true;
    const [field, value] = state.slice.split(":").map(Number);
    return row.slices[field] === value;
  }

  // A reply without a score is in no range.
  function inRange(row) {
    if (state.lowest === "" && state.highest === "") return true;
    const score = row.scores[state.metric];
    if (score === null) return false;
    return (state.lowest === "" || score >= Number(state.lowest)) && (state.highest === "" || score <= Number(state.highest));
  }

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function quoted(tag, className, text) {
    const node = make(tag, className, text);
    node.dir = "auto";
    return node;
  }

  function systemBadge(number) {
    const badge = make("span", `system series-${number % 6}`);
    badge.append(make("bdi", "", data.systems[number]));
    return badge;
  }

  function bubble(speaker, role, text, className, ifEmpty) {
    const item = make("li", className);
    const label = make("span", "speaker");
    label.append(make("bdi", "", speaker), role);
    item.append(label, text.trim() === "" ? make("p", "bubble empty", ifEmpty) : quoted("p", "bubble", text));
    return item;
  }

  function details(row) {
    const box = make("div", "details");
    const name = make("p", "id");
    name.append("id: ", make("bdi", "", row.id));
    box.append(name);
    if (!data.texts) return box;
    const thread = make("ol", "thread");
    for (const [speaker, own, text] of contextOf(row)) {
      thread.append(bubble(speaker, "", text, own ? "own" : "", "(empty)"));
    }
    thread.append(bubble(data.systems[row.system], ", reply", row.response, "own reply", "(empty reply)"));
    box.append(thread);
    const references = data.references[row.references];
    if (references.length) {
      const list = make("ul", "references");
      for (const text of references) list.append(quoted("li", "", text));
      box.append(make("p", "", references.length === 1 ? "Reference" : "References"), list);
    }
    for (const [label, said] of row.reasons ?? []) {
      box.append(make("p", "", `Reason given by ${label}`), quoted("p", "reason", said));
    }
    return box;
  }

  function makeRow(className) {
    const row = make("tr", className);
    row.setAttribute("role", "row");
    return row;
  }

  function makeCell(className, ...content) {
    const cell = make("td", className);
    cell.setAttribute("role", "cell");
    cell.append(...content);
    return cell;
  }

  function scoreCell(score, metric) {
    const number = make("span", "", score === null ? UNKNOWN : shown(score, metric.decimals));
    if (score !== null && metric.high > metric.low) {
      number.className = "measured";
      number.style.setProperty("--share", ((score - metric.low) / (metric.high - metric.low)).toFixed(3));
    }
    const cell = makeCell("number", number);
    cell.dataset.label = metric.label;
    return cell;
  }

  function shown(score, decimals) {
    return score.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }

  function rowNodes(number) {
    const row = data.rows[number];
    const line = makeRow("");
    const opener = make("button", "opener");
    opener.type = "button";
    opener.setAttribute("aria-expanded", "false");
    opener.setAttribute("aria-label", `Details of ${row.id}`);
    line.append(makeCell("", opener), makeCell("from", systemBadge(row.system)), makeCell("text", textOf(row)));
    row.scores.forEach((score, place) => line.append(scoreCell(score, data.metrics[place])));
    opener.addEventListener("click", () => toggle(opener, line, row));
    return line;
  }

  function textOf(row) {
    if (!data.texts) return make("bdi", "", row.id);
    if (row.response.trim() === "") return make("div", "empty", "(empty reply)");
    return quoted("div", "clamped", row.response);
  }

  function toggle(opener, line, row) {
    const open = opener.getAttribute("aria-expanded") === "true";
    opener.setAttribute("aria-expanded", String(!open));
    if (open) {
      line.nextElementSibling.remove();
      return;
    }
    const cell = makeCell("", details(row));
    cell.colSpan = line.children.length;
    const extra = makeRow("opened");
    extra.append(cell);
    line.after(extra);
  }

  function draw() {
    const found = matching();
    const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
    state.page = Math.min(state.page, pages - 1);
    const start = state.page * PAGE_SIZE;
    body.replaceChildren(...found.slice(start, start + PAGE_SIZE).map(rowNodes));
    for (const head of heads) {
      const order = state.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", head.dataset.key === state.key ? order : "none");
    }
    const count = found.length.toLocaleString("en");
    const all = data.rows.length.toLocaleString("en");
    byId("found").textContent = found.length === data.rows.length ? `${all} listed` : `${count} of ${all} match`;
    byId("page").textContent = `Page ${state.page + 1} of ${pages}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page === pages - 1;
  }

  function sortBy(key) {
    // The first click sorts scores from the highest and texts alphabetically; a second click reverses the order.
    state.descending = state.key === key ? !state.descending : key.startsWith("metric-");
    state.key = key;
    state.page = 0;
    draw();
  }

  function turnPage(step) {
    state.page += step;
    draw();
    browser.scrollIntoView({ block: "start" });
  }

  for (const head of heads) head.querySelector("button").addEventListener("click", () => sortBy(head.dataset.key));
  const controls = {
    search: "query",
    "system-filter": "system",
    "slice-filter": "slice",
    "range-metric": "metric",
    lowest: "lowest",
    highest: "highest",
  };
  for (const [id, name] of Object.entries(controls)) {
    const control = byId(id);
    if (!control) continue;
    control.addEventListener("input", () => {
      state[name] = control.value;
      state.page = 0;
      draw();
    });
  }
  byId("previous").addEventListener("click", () => turnPage(-1));
  byId("next").addEventListener("click", () => turnPage(1));
  draw();
  browser.hidden = false;
})();
