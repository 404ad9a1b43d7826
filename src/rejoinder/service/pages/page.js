// Sends the dialogue to /explain and shows the answer. Everything from outside is shown as text, never as markup.
"use strict";

const EXAMPLE = "Hi! Do you have a table for two tonight?\nYes, at seven or at half past eight.\nHalf past eight is perfect, thank you.";
const NAME = /^[\p{L}][\p{L}\p{N} ._-]{0,19}:\s+/u;
const find = (id) => document.getElementById(id);
let shown = null; // the answer that is on the page

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** The example to score; an Error with a line for the person where there is none. */
function example() {
  const text = find("dialogue").value.trim();
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      throw new Error("This begins like JSON, but is not valid JSON.");
    }
  }
  let turns = lines(text);
  if (!turns.length) throw new Error("Please paste a dialogue first.");
  // A name is one only where every turn has one: "Note: no milk" is a turn.
  if (turns.length > 1 && turns.every((turn) => NAME.test(turn))) turns = turns.map((turn) => turn.replace(NAME, ""));
  return { context: turns.slice(0, -1), response: turns.at(-1), references: lines(find("references").value) };
}

async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (find("token").value) headers.Authorization = `Bearer ${find("token").value}`;
  const answer = await fetch(path, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
  const found = await answer.json();
  if (answer.status === 401) find("access").hidden = false;
  if (!answer.ok) throw new Error(found.error);
  return found;
}

const digits = (value) => (value === null ? "none" : Math.abs(value) < 1000 ? value.toFixed(2) : Math.round(value).toLocaleString("en"));

function metricCard(label, told, metric) {
  const card = element("article", undefined, "metric");
  const [low, high] = told.range;
  const value = element("span", digits(told.score), "value");
  if (told.score !== null && high !== null) value.append(" ", element("small", `on a scale from ${low} to ${high}`));
  card.append(value, element("h3", label), element("p", metric.measures, "measures"));
  if (told.score !== null && high !== null) {
    const meter = element("meter");
    Object.assign(meter, { min: low, max: high, value: told.score });
    meter.setAttribute("aria-label", `${label}: ${digits(told.score)} on a scale from ${low} to ${high}`);
    card.append(meter);
  }
  const why = element("ul");
  for (const sentence of told.why) {
    const item = element("li", sentence);
    item.dir = "auto";
    why.append(item);
  }
  if (told.why.length) card.append(why);
  return card;
}

/** The reply with its words marked by what they do to the score of one metric, and the same as a table. */
function showParts() {
  const label = find("by").value;
  const score = shown.scores[label].score;
  const changes = shown.without[label].map((without) => (without === null ? null : score - without));
  const largest = Math.max(...changes.map((change) => Math.abs(change ?? 0)));
  const reply = find("reply");
  reply.replaceChildren();
  find("rows").replaceChildren();
  // Positions count code points, as Python does; strings here count UTF-16 units.
  const letters = Array.from(shown.response);
  const between = (start, end) => letters.slice(start, end).join("");
  let end = 0;
  shown.parts.forEach((part, place) => {
    reply.append(between(end, part.start));
    const text = between(part.start, part.end);
    const change = changes[place];
    const share = largest > 0 && change !== null ? Math.abs(change) / largest : 0;
    const mark = element("span", text, share < 0.15 ? "" : `${change > 0 ? "up" : "down"}${share < 0.5 ? " some" : ""}`);
    reply.append(mark);
    const row = element("tr");
    const sign = change !== null && change > 0 ? "+" : "";
    row.append(element("td", text), element("td", digits(shown.without[label][place])), element("td", change === null ? "none" : sign + change.toFixed(3)));
    find("rows").append(row);
    end = part.end;
  });
  reply.append(between(end));
}

function show(answer, metrics) {
  shown = answer;
  find("scores").replaceChildren(...Object.entries(answer.scores).map(([label, told]) => metricCard(label, told, metrics[label])));
  const explained = Object.keys(answer.without).filter((label) => answer.scores[label].score !== null && answer.parts.length);
  find("by").replaceChildren(...explained.map((label) => element("option", label)));
  find("parts-room").hidden = !explained.length;
  if (explained.length) showParts();
  find("result").hidden = false;
  find("result-title").focus();
}

async function send(event) {
  event.preventDefault();
  const button = find("send");
  find("problem").hidden = true;
  button.disabled = true;
  try {
    const answer = await ask("explain", example());
    show(answer, (await ask("metrics-list")).metrics);
  } catch (error) {
    find("result").hidden = true;
    find("problem").textContent = error.message;
    find("problem").hidden = false;
  } finally {
    button.disabled = false;
  }
}

find("form").addEventListener("submit", send);
find("by").addEventListener("change", showParts);
find("fill").addEventListener("click", () => {
  find("dialogue").value = EXAMPLE;
  find("dialogue").focus();
});
