"use strict";
// Parts of the table of replies. Texts are inserted by textContent only, so a reply is never parsed as markup.
const replyCells = (() => {
  if (!replyRows) return null;
  const { data, state, parsed, contextOf, referencesOf, address } = replyRows;
  const UNKNOWN = "–";
  const MOST_WORDS = 400;

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // The text with what was searched for marked.
  function quoted(tag, className, text) {
    const node = make(tag, className);
    node.dir = "auto";
    const { text: wanted } = parsed(state.query);
    let rest = text;
    for (let at = wanted ? rest.toLowerCase().indexOf(wanted) : -1; at >= 0; at = rest.toLowerCase().indexOf(wanted)) {
      node.append(rest.slice(0, at), make("mark", "", rest.slice(at, at + wanted.length)));
      rest = rest.slice(at + wanted.length);
    }
    node.append(rest);
    return node;
  }

  function systemBadge(number) {
    const badge = make("span", `system series-${number % 6}`);
    badge.append(make("bdi", "", data.systems[number]));
    return badge;
  }

  function shown(score, decimals) {
    return score.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }

  function scoreText(row, number) {
    const score = row.scores[number];
    return score === null ? UNKNOWN : shown(score, data.metrics[number].decimals);
  }

  function bubble(speaker, role, text, className, ifEmpty) {
    const item = make("li", className);
    const label = make("span", "speaker");
    label.append(make("bdi", "", speaker), role);
    item.append(label, text.trim() === "" ? make("p", "bubble empty", ifEmpty) : quoted("p", "bubble", text));
    return item;
  }

  function button(label, action) {
    const node = make("button", "small", label);
    node.type = "button";
    node.addEventListener("click", () => action(node));
    return node;
  }

  async function copy(text, node) {
    const before = node.textContent;
    try {
      await navigator.clipboard.writeText(text);
      node.textContent = "Copied";
    } catch {
      node.textContent = "Not allowed here";
    }
    setTimeout(() => (node.textContent = before), 1500);
  }

  function thread(row) {
    const turns = make("ol", "thread");
    for (const [speaker, own, text] of contextOf(row)) turns.append(bubble(speaker, "", text, own ? "own" : "", "(empty)"));
    return turns;
  }

  function details(row) {
    const box = make("div", "details");
    const name = make("p", "id");
    name.append("id: ", make("bdi", "", row.id));
    const link = () => location.href.split("#")[0] + address({ open: row.id });
    const tools = make("p", "tools");
    tools.append(button("Copy a link to this reply", (node) => copy(link(), node)));
    if (data.texts) tools.append(button("Copy the reply", (node) => copy(row.response, node)));
    box.append(name, tools);
    if (!data.texts) return box;
    const turns = thread(row);
    turns.append(bubble(data.systems[row.system], ", reply", row.response, "own reply", "(empty reply)"));
    box.append(turns);
    const references = referencesOf(row);
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

  // One context with the replies of all systems to it; of two replies, the words that only one of them has are marked.
  function sideBySide(rows) {
    const card = make("article", "card");
    const same = rows.every((row) => row.context === rows[0].context);
    if (data.texts && same && contextOf(rows[0]).length) card.append(thread(rows[0]));
    const list = make("ol", "answers");
    for (const row of rows) {
      const item = make("li", "");
      const from = make("div", "from");
      from.append(systemBadge(row.system), make("strong", "", scoreText(row, data.primary)));
      item.append(from);
      if (data.texts && !same && contextOf(row).length) item.append(thread(row));
      if (data.texts) item.append(answer(row, rows.length === 2 ? rows.find((other) => other !== row) : null));
      else item.append(make("p", "id", row.id));
      list.append(item);
    }
    card.append(list);
    return card;
  }

  function answer(row, other) {
    if (row.response.trim() === "") return make("p", "bubble empty", "(empty reply)");
    const own = row.response.split(/(\s+)/);
    const kept = other && sharedWords(row.response.split(/\s+/), other.response.split(/\s+/));
    // Where nothing is shared, marks on every word would say nothing.
    if (!kept || kept.size === 0 || parsed(state.query).text) return quoted("p", "bubble", row.response);
    const node = make("p", "bubble");
    node.dir = "auto";
    let place = 0;
    for (const piece of own) {
      if (/^\s*$/.test(piece)) node.append(piece);
      else node.append(kept.has(place++) ? piece : make("span", "only", piece));
    }
    return node;
  }

  // The places of the words of a that are in the longest common subsequence of a and b; null for very long texts.
  function sharedWords(a, b) {
    if (a.length > MOST_WORDS || b.length > MOST_WORDS) return null;
    const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    const same = (x, y) => x.toLowerCase() === y.toLowerCase();
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        best[i][j] = same(a[i], b[j]) ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    }
    const places = new Set();
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      if (same(a[i], b[j])) {
        places.add(i++);
        j++;
      } else if (best[i + 1][j] >= best[i][j + 1]) i++;
      else j++;
    }
    return places;
  }

  return { make, quoted, systemBadge, scoreText, details, sideBySide, copy };
})();
