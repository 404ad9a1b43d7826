"use strict";
// The table of replies, its controls and keys, and downloads of what it lists.
(() => {
  if (!replyRows) return;
  const { data, state, matching, matchingGroups, contextOf, referencesOf, readAddress, writeAddress } = replyRows;
  const { make, quoted, systemBadge, scoreText, details, sideBySide } = replyCells;
  const PAGE_SIZE = { rows: 25, contexts: 10 };
  const byId = (id) => document.getElementById(id);
  const browser = byId("browser");
  const heads = [...browser.querySelectorAll("th[data-key]")];
  const body = browser.querySelector("tbody");
  const hidden = new Set();
  const CONTROLS = {
    search: "query",
    "system-filter": "system",
    "slice-filter": "slice",
    "range-metric": "metric",
    lowest: "lowest",
    highest: "highest",
    view: "view",
  };

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

  function scoreCell(row, place) {
    const metric = data.metrics[place];
    const score = row.scores[place];
    const number = make("span", "", scoreText(row, place));
    if (score !== null && metric.high > metric.low) {
      number.className = "measured";
      number.style.setProperty("--share", ((score - metric.low) / (metric.high - metric.low)).toFixed(3));
    }
    const cell = makeCell("number", number);
    cell.dataset.label = metric.label;
    cell.hidden = hidden.has(place);
    return cell;
  }

  function rowNodes(number) {
    const row = data.rows[number];
    const line = makeRow("");
    const opener = make("button", "opener");
    opener.type = "button";
    opener.setAttribute("aria-expanded", "false");
    opener.setAttribute("aria-label", `Details of ${row.id}`);
    line.append(makeCell("", opener), makeCell("from", systemBadge(row.system)), makeCell("text", ...textOf(row)));
    row.scores.forEach((_, place) => line.append(scoreCell(row, place)));
    opener.addEventListener("click", () => toggle(opener, line, row));
    return line;
  }

  // The last turn of the context, and the reply.
  function textOf(row) {
    if (!data.texts) return [make("bdi", "", row.id)];
    const context = contextOf(row);
    const before = context.length ? [quoted("div", "before", context[context.length - 1][2])] : [];
    const empty = row.response.trim() === "";
    return [...before, empty ? make("div", "empty", "(empty reply)") : quoted("div", "clamped", row.response)];
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
    const side = state.view === "contexts" && data.sides;
    const found = side ? matchingGroups() : matching();
    const all = side ? new Set(data.rows.map((row) => row.group)).size : data.rows.length;
    const size = side ? PAGE_SIZE.contexts : PAGE_SIZE.rows;
    const pages = Math.max(1, Math.ceil(found.length / size));
    state.page = Math.max(0, Math.min(Number(state.page) || 0, pages - 1));
    const some = found.slice(state.page * size, (state.page + 1) * size);
    byId("rows").hidden = side;
    byId("contexts").hidden = !side;
    body.replaceChildren(...(side ? [] : some.map(rowNodes)));
    byId("contexts").replaceChildren(...(side ? some.map(sideBySide) : []));
    for (const head of heads) {
      const order = state.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", head.dataset.key === state.key ? order : "none");
    }
    const [count, total] = [found.length, all].map((number) => number.toLocaleString("en"));
    const unit = side ? " contexts" : "";
    byId("found").textContent = found.length === all ? `${total}${unit} listed` : `${count} of ${total}${unit} match`;
    byId("page").textContent = `Page ${state.page + 1} of ${pages}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page === pages - 1;
    writeAddress();
  }

  function sortBy(key) {
    // The first click sorts scores from the highest and texts alphabetically; a second click reverses the order.
    const descending = state.key === key ? !state.descending : key.startsWith("metric-");
    Object.assign(state, { key, descending: descending ? "1" : "", page: 0 });
    draw();
  }

  function turnPage(step) {
    state.page = Number(state.page) + step;
    draw();
    browser.scrollIntoView({ block: "start" });
  }

  function cell(value) {
    // A spreadsheet would run a cell that begins like a formula.
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function record(row) {
    const texts = data.texts
      ? { context: contextOf(row).map((turn) => turn[2]), response: row.response, references: referencesOf(row) }
      : {};
    const scores = Object.fromEntries(data.metrics.map((metric, place) => [metric.label, row.scores[place]]));
    return { id: row.id, system: data.systems[row.system], ...texts, scores };
  }

  function download(kind) {
    const records = matching().map((number) => record(data.rows[number]));
    const lines =
      kind === "csv"
        ? [Object.keys(flat(records[0] ?? { scores: {} })), ...records.map((one) => Object.values(flat(one)))].map((line) => line.map(cell).join(","))
        : records.map((one) => JSON.stringify(one));
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/plain;charset=utf-8" }));
    link.download = `replies.${kind}`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function flat({ scores, context, references, ...rest }) {
    const texts = context ? { context: context.join("\n"), references: references.join("\n") } : {};
    return { ...rest, ...texts, ...scores };
  }

  // Keys work while the focus is within the table, so that they never surprise a reader elsewhere.
  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const openers = [...browser.querySelectorAll(".opener")];
    const at = openers.indexOf(document.activeElement);
    const keys = {
      "/": () => byId("search").focus(),
      j: () => openers[Math.min(at + 1, openers.length - 1)]?.focus(),
      k: () => openers[Math.max(at - 1, 0)]?.focus(),
      n: () => byId("next").disabled || turnPage(1),
      p: () => byId("previous").disabled || turnPage(-1),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  function showState() {
    for (const [id, name] of Object.entries(CONTROLS)) {
      if (byId(id)) byId(id).value = state[name];
    }
    const opened = state.open && data.rows.findIndex((row) => row.id === state.open);
    if (state.open && opened >= 0) state.page = Math.max(0, Math.floor(matching().indexOf(opened) / PAGE_SIZE.rows));
    const wanted = state.open;
    state.open = "";
    draw();
    if (!wanted) {
      browser.scrollIntoView({ block: "start" });
      return;
    }
    const opener = browser.querySelector(`.opener[aria-label="${CSS.escape(`Details of ${wanted}`)}"]`);
    if (!opener) return;
    opener.click();
    opener.scrollIntoView({ block: "center" });
  }

  function followAddress() {
    if (!readAddress()) return false;
    const folded = browser.closest("details");
    if (folded) folded.open = true;
    showState();
    return true;
  }

  for (const head of heads) head.querySelector("button").addEventListener("click", () => sortBy(head.dataset.key));
  for (const [id, name] of Object.entries(CONTROLS)) {
    byId(id)?.addEventListener("input", (event) => {
      Object.assign(state, { [name]: event.target.value, page: 0 });
      draw();
    });
  }
  for (const box of browser.querySelectorAll("#columns input")) {
    box.addEventListener("change", () => {
      const place = Number(box.value);
      if (box.checked) hidden.delete(place);
      else hidden.add(place);
      heads.find((head) => head.dataset.key === `metric-${place}`).hidden = !box.checked;
      draw();
    });
  }
  for (const kind of ["csv", "jsonl"]) byId(`download-${kind}`).addEventListener("click", () => download(kind));
  byId("previous").addEventListener("click", () => turnPage(-1));
  byId("next").addEventListener("click", () => turnPage(1));
  browser.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", followAddress);
  browser.hidden = false;
  if (!followAddress()) draw();
})();
