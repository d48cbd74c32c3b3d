"use strict";

// The page keeps nothing that matters: what is shown comes from the server's files, and a vote goes there at once.

const $ = (id) => document.getElementById(id);
const state = { name: "", categories: [], failures: [], shown: null };

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children); // text is always added as text: code of strangers is never markup
  return element;
}

function complain(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

async function talk(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Check that `dlbench analyze vote-bugs` is still running.");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.fix ? `${answer.error}: ${answer.fix}.` : `${answer.error}.`);
  return answer;
}

const ask = (path, query = {}) => talk(`${path}?${new URLSearchParams(query)}`);

async function begin(name, id) {
  try {
    const failures = await ask("failures", { as: name });
    Object.assign(state, { name, failures });
    complain("");
    document.querySelector("main").hidden = false;
    const first = failures.find((row) => row.id === id) ?? failures.find((row) => !row.voted) ?? failures[0];
    await go(first.id);
  } catch (error) {
    complain(error.message);
  }
}

async function go(id) {
  try {
    state.shown = await ask("failure", { as: state.name, id });
    complain("");
    $("said").textContent = "";
    history.replaceState(null, "", `#${new URLSearchParams({ as: state.name, id })}`);
    draw();
    for (const part of ["code", "message", "reference"]) $(part).scrollTo(0, 0);
  } catch (error) {
    complain(error.message);
  }
}

function draw() {
  const { shown } = state;
  $("failure").replaceChildren(...shown.id.split(/(?<=[./_:#])/).flatMap((part) => [part, make("wbr")]));
  $("outcomes").textContent = `${shown.status.replaceAll("_", " ")}; ${shown.outcomes}`;
  $("prompt").textContent = shown.prompt;
  $("code").replaceChildren(...colour(shown.code || "# the answer holds no code"));
  $("reference").replaceChildren(...colour(shown.reference || "# the project is not prepared on this machine"));
  $("message").textContent = shown.message || "nothing was said";
  $("evidence").replaceChildren(...Object.entries(shown.evidence).flatMap(([name, value]) => [
    make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, typeof value === "string" ? value : JSON.stringify(value)),
  ]));
  $("note").value = shown.mine?.note ?? "";
  for (const button of $("categories").children) {
    button.setAttribute("aria-pressed", String(button.dataset.slug === shown.mine?.category));
  }
  const place = state.failures.findIndex((row) => row.id === shown.id);
  $("position").textContent = `${place + 1} of ${state.failures.length}`;
  $("progress").textContent = `${state.failures.filter((row) => row.voted).length} of ${state.failures.length} voted by ${state.name}`;
  $("previous").disabled = place <= 0;
  $("next").disabled = place + 1 >= state.failures.length;
}

// One after the other, in the order of the keys pressed: a vote right after "next" is about what comes next.
let line = Promise.resolve();
const inLine = (work) => void (line = line.then(work));

async function vote(category) {
  if (!state.shown) return;
  const body = { as: state.name, id: state.shown.id, category, note: $("note").value.trim() };
  try {
    state.shown = await talk("vote", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    state.failures.find((row) => row.id === body.id).voted = true;
    complain("");
    draw();
    $("said").textContent = `saved: ${category.replaceAll("_", " ")}`;
  } catch (error) {
    complain(`Not saved: ${error.message}`);
  }
}

async function walk(step) {
  const row = state.failures[state.failures.findIndex((one) => one.id === state.shown?.id) + step];
  if (row && $("note").value.trim() && !state.shown.mine) return complain("A note goes with a vote: choose a category, or clear it.");
  if (row) await go(row.id);
}

function drawCategories() {
  $("categories").replaceChildren(...state.categories.map((one) => {
    const button = make("button", { type: "button", onclick: () => inLine(() => vote(one.slug)) },
      make("kbd", {}, one.key), make("span", {}, one.name), make("span", { className: "meaning" }, one.meaning));
    button.dataset.slug = one.slug;
    button.setAttribute("aria-pressed", "false");
    return button;
  }));
}

async function start() {
  $("naming").addEventListener("submit", (event) => {
    event.preventDefault();
    $("name").blur();
    inLine(() => begin($("name").value.trim(), ""));
  });
  $("note").addEventListener("change", () => inLine(() => state.shown?.mine && vote(state.shown.mine.category)));
  $("previous").addEventListener("click", () => inLine(() => walk(-1)));
  $("next").addEventListener("click", () => inLine(() => walk(1)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.tagName === "INPUT") return;
    const found = state.categories.find((one) => one.key === event.key);
    if (event.key === "n") inLine(() => walk(1));
    else if (event.key === "p") inLine(() => walk(-1));
    else if (found) inLine(() => vote(found.slug));
  });
  try {
    state.categories = await ask("categories");
    drawCategories();
  } catch (error) {
    return complain(error.message);
  }
  const place = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (place.as) {
    $("name").value = place.as;
    await begin(place.as, place.id);
  }
}

void start();
