"use strict";
// Which replies the reader wants to see: search, filters, order and page over the data embedded in the page.
// They are kept in the page's address, so that a link shows the same replies to someone else.
const replyRows = (() => {
  const source = document.getElementById("replies-data");
  if (!source || !document.getElementById("browser")) return null;

  const data = JSON.parse(source.textContent);
  const ADDRESS = "#replies?";
  const DEFAULTS = {
    query: "", system: "", slice: "", metric: "0", lowest: "", highest: "",
    key: "", descending: "", page: "0", view: "rows", open: "",
  };
  const state = { ...DEFAULTS };
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const folded = (text) => text.normalize("NFKC").toLowerCase();
  const contextOf = (row) => (data.texts ? data.contexts[row.context] : []);
  const referencesOf = (row) => (data.texts ? data.references[row.references] : []);
  const haystacks = data.rows.map((row) => {
    const texts = [row.id, data.systems[row.system], row.response || ""];
    return folded(texts.concat(contextOf(row).map((turn) => turn[2])).join("\n"));
  });
  const metricNumbers = new Map(data.metrics.map((metric, number) => [folded(metric.label), number]));
  const COMPARISONS = {
    "<=": (score, limit) => score <= limit,
    ">=": (score, limit) => score >= limit,
    "<": (score, limit) => score < limit,
    ">": (score, limit) => score > limit,
    "=": (score, limit) => score === limit,
  };

  // "default<2 length>=20 the train": conditions on scores, and text that must occur as it is.
  function parsed(query) {
    const conditions = [];
    const words = [];
    for (const word of folded(query).split(/\s+/).filter(Boolean)) {
      const match = /^(.+?)(<=|>=|<|>|=)(-?[\d.]+)$/.exec(word);
      const number = match ? metricNumbers.get(match[1]) : undefined;
      if (number === undefined) words.push(word);
      else conditions.push([number, COMPARISONS[match[2]], Number(match[3])]);
    }
    return { conditions, text: words.join(" ") };
  }

  function inSlice(row) {
    if (state.slice === "") return true;
    const [field, value] = state.slice.split(":").map(Number);
    return row.slices[field] === value;
  }

  // A reply without a score is in no range.
  function inRange(row) {
    if (state.lowest === "" && state.highest === "") return true;
    const score = row.scores[Number(state.metric)];
    if (score === null || score === undefined) return false;
    return (state.lowest === "" || score >= Number(state.lowest)) && (state.highest === "" || score <= Number(state.highest));
  }

  function valueReader(key) {
    if (key.startsWith("metric-")) {
      const number = Number(key.slice("metric-".length));
      return (row) => row.scores[number];
    }
    return key === "system" ? (row) => data.systems[row.system] : (row) => row[key];
  }

  // Rows without a score come last in both sort directions; equal rows keep the order of the data.
  function inOrder(numbers) {
    if (state.key === "") return numbers;
    const read = valueReader(state.key);
    return numbers.sort((a, b) => {
      const x = read(data.rows[a]);
      const y = read(data.rows[b]);
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      const order = typeof x === "number" ? x - y : collator.compare(x, y);
      return (state.descending ? -order : order) || a - b;
    });
  }

  // The numbers of the rows that match, in order.
  function matching() {
    const { conditions, text } = parsed(state.query);
    const fits = (row, number) =>
      (state.system === "" || row.system === Number(state.system)) &&
      inSlice(row) &&
      inRange(row) &&
      conditions.every(([metric, holds, limit]) => row.scores[metric] !== null && holds(row.scores[metric], limit)) &&
      haystacks[number].includes(text);
    return inOrder(data.rows.map((row, number) => (fits(row, number) ? number : -1)).filter((number) => number >= 0));
  }

  // All replies to each context of which one matches, best first, by system where the metric cannot judge them; the
  // largest differences between systems first.
  function matchingGroups() {
    const wanted = new Set(matching().map((number) => data.rows[number].group));
    const groups = new Map();
    for (const row of data.rows) {
      if (!wanted.has(row.group)) continue;
      if (!groups.has(row.group)) groups.set(row.group, []);
      groups.get(row.group).push(row);
    }
    const { primary, higher, ranks } = data;
    const value = (row) => (row.scores[primary] === null ? -Infinity : row.scores[primary] * (higher ? 1 : -1));
    const found = [...groups.values()];
    for (const rows of found) rows.sort((a, b) => (ranks ? value(b) - value(a) : a.system - b.system));
    const spread = (rows) => {
      const known = rows.map(value).filter(Number.isFinite);
      return known.length > 1 ? Math.max(...known) - Math.min(...known) : -1;
    };
    return found.sort((a, b) => spread(b) - spread(a));
  }

  function readAddress() {
    if (!location.hash.startsWith(ADDRESS)) return false;
    const given = new URLSearchParams(location.hash.slice(ADDRESS.length));
    for (const name of Object.keys(DEFAULTS)) state[name] = given.get(name) ?? DEFAULTS[name];
    return true;
  }

  function address(changes = {}) {
    const shown = Object.entries({ ...state, ...changes }).filter(([name, value]) => String(value) !== DEFAULTS[name]);
    return ADDRESS + new URLSearchParams(shown);
  }

  function writeAddress() {
    if (address() === ADDRESS && !location.hash.startsWith(ADDRESS)) return;
    try {
      history.replaceState(null, "", address());
    } catch {
      // A page shown inside another one may not change its address.
    }
  }

  return { data, state, parsed, matching, matchingGroups, contextOf, referencesOf, readAddress, writeAddress, address };
})();
