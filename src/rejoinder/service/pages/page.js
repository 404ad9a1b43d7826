// Sends one or two replies to /explain and shows the answers. Everything from outside is shown as text, never as markup.
"use strict";

const EXAMPLE = {
  context: "Hi! Do you have a table for two tonight?\nYes, at seven or at half past eight.",
  first: "Half past eight is perfect, thank you.",
  second: "I like tables.",
};
const NAME = /^[\p{L}][\p{L}\p{N} ._-]{0,19}:\s+/u;
const find = (id) => document.getElementById(id);
let shown = []; // the answers that are on the page, one per reply

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** The examples to score, one per reply; an Error with a line for the person where there is none. */
function examples() {
  const text = find("context").value.trim();
  const replies = ["first", "second"].map((id) => find(id).value.trim()).filter(Boolean);
  if (text.startsWith("{") && !replies.length) {
    try {
      return [JSON.parse(text)];
    } catch {
      throw new Error("This begins like JSON, but is not valid JSON.");
    }
  }
  if (!replies.length) throw new Error("Please paste a reply first.");
  let context = lines(text);
  // A name is one only where every turn has one: "Note: no milk" is a turn.
  if (context.length && context.every((turn) => NAME.test(turn))) context = context.map((turn) => turn.replace(NAME, ""));
  return replies.map((response) => ({ context, response, references: lines(find("references").value) }));
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

/** The score of one reply, its place on the metric's scale, and why. */
function scoreOf(label, told, name) {
  const doubtful = ["doubtful", "not applicable"].includes(told.reliability.status);
  const part = element("div", undefined, doubtful ? "score doubtful" : "score");
  const [low, high] = told.range;
  if (name) part.append(element("h4", name));
  const value = element("span", digits(told.score), "value");
  if (told.score !== null && high !== null) value.append(" ", element("small", `on a scale from ${low} to ${high}`));
  part.append(value);
  if (doubtful) part.append(element("p", "Not to be relied on", "mark"));
  if (told.score !== null && high !== null) {
    const meter = element("meter");
    Object.assign(meter, { min: low, max: high, value: told.score });
    meter.setAttribute("aria-label", `${label}${name ? `, ${name.toLowerCase()}` : ""}: ${digits(told.score)} on a scale from ${low} to ${high}`);
    part.append(meter);
  }
  const why = element("ul");
  for (const sentence of told.why) {
    const item = element("li", sentence);
    item.dir = "auto";
    why.append(item);
  }
  if (told.why.length) part.append(why);
  return part;
}

function metricCard(label, answers, metric) {
  const card = element("article", undefined, "metric");
  const names = answers.length > 1 ? ["First reply", "Second reply"] : [""];
  const parts = element("div", undefined, "beside");
  answers.forEach((answer, place) => parts.append(scoreOf(label, answer.scores[label], names[place])));
  card.append(element("h3", label), element("p", metric.measures, "measures"), parts);
  return card;
}

/** The reply with its words marked by what they do to the score of one metric, and the same as a table. */
function showParts() {
  const label = find("by").value;
  const answer = shown[shown.length > 1 ? Number(find("of").value) : 0];
  const score = answer.scores[label].score;
  const changes = (answer.without[label] ?? []).map((without) => (without === null ? null : score - without));
  const largest = Math.max(...changes.map((change) => Math.abs(change ?? 0)));
  const reply = find("reply");
  reply.replaceChildren();
  find("rows").replaceChildren();
  // Positions count code points, as Python does; strings here count UTF-16 units.
  const letters = Array.from(answer.response);
  const between = (start, end) => letters.slice(start, end).join("");
  let end = 0;
  answer.parts.forEach((part, place) => {
    reply.append(between(end, part.start));
    const text = between(part.start, part.end);
    const change = changes[place];
    const share = largest > 0 && change !== null ? Math.abs(change) / largest : 0;
    const mark = element("span", text, share < 0.15 ? "" : `${change > 0 ? "up" : "down"}${share < 0.5 ? " some" : ""}`);
    reply.append(mark);
    const row = element("tr");
    const sign = change !== null && change > 0 ? "+" : "";
    row.append(element("td", text), element("td", digits(answer.without[label][place])), element("td", change === null ? "none" : sign + change.toFixed(3)));
    find("rows").append(row);
    end = part.end;
  });
  reply.append(between(end));
}

function show(answers, metrics) {
  shown = answers;
  find("scores").replaceChildren(...Object.keys(answers[0].scores).map((label) => metricCard(label, answers, metrics[label])));
  const known = (answer, label) => label in answer.without && answer.scores[label].score !== null && answer.parts.length;
  const explained = Object.keys(answers[0].scores).filter((label) => answers.every((answer) => known(answer, label)));
  find("by").replaceChildren(...explained.map((label) => element("option", label)));
  find("of-room").hidden = answers.length === 1;
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
    const answers = [];
    for (const example of examples()) answers.push(await ask("explain", example));
    show(answers, (await ask("metrics-list")).metrics);
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
find("of").addEventListener("change", showParts);
find("fill").addEventListener("click", () => {
  for (const [id, text] of Object.entries(EXAMPLE)) find(id).value = text;
  find("context").focus();
});
