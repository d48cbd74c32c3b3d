"use strict";

// The page keeps nothing that matters: what is shown comes from the server's files, what is done goes there at once.

const $ = (id) => document.getElementById(id);
const state = { name: "", axes: [], functions: [], shown: null, source: null, turn: 0, pending: 0 };

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children); // text is always added as text: code of strangers is never markup
  return element;
}

const words = (slug) => slug.replaceAll("_", " ");

// Long names may break where a reader would, not in the middle of a word.
const breakable = (name) => name.split(/(?<=[./_:])/).flatMap((part) => [part, make("wbr")]);

// ---- talking to the server -------------------------------------------------------------------------------------------

class Trouble extends Error {
  constructor(status, what, fix) {
    super(fix ? `${what}. ${fix[0].toUpperCase()}${fix.slice(1)}.` : `${what}.`);
    this.status = status;
  }
}

async function talk(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Trouble(0, "The server does not answer", "check that `dlbench construct review` is still running");
  }
  const answer = await response.json();
  if (!response.ok) throw new Trouble(response.status, answer.error, answer.fix);
  return answer;
}

const ask = (path, query = {}) => talk(`${path}?${new URLSearchParams(query)}`);

// One after the other, in the order of the keys pressed.
let queue = Promise.resolve();

function send(path, body, said) {
  const asked = { as: state.name, id: state.shown.id, ...body };
  state.pending += 1;
  const sent = queue.then(async () => {
    try {
      const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) };
      take(await talk(path, options));
      complain("");
      tell(said);
      listAgain().catch((error) => complain(error.message));
      return true;
    } catch (error) {
      complain(`Not saved: ${error.message}`);
      if (error.status) await ask("function", { as: asked.as, id: asked.id }).then(take, () => {});
      return false;
    } finally {
      state.pending -= 1;
    }
  });
  queue = sent;
  return sent;
}

function take(answer) {
  if (state.shown?.id !== answer.id) return;
  state.shown = answer;
  drawActing();
}

let fading = 0;

function tell(text) {
  clearTimeout(fading);
  $("said").textContent = text;
  fading = setTimeout(() => $("said").replaceChildren(), 6000); // it lies over what is below
}

function complain(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
  if (text) tell("");
}

// ---- where we are, kept in the address so that a reload comes back to it ---------------------------------------------

function remember() {
  const place = { as: state.name, id: state.shown?.id, project: $("project").value, show: $("show").value, find: $("find").value };
  const kept = Object.entries(place).filter(([, value]) => value);
  history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
}

const recall = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

// ---- the list --------------------------------------------------------------------------------------------------------

const FITS = {
  "": () => true,
  mine: (row) => !row.voted && !row.rejected_by_me,
  undecided: (row) => !row.decided,
  accepted: (row) => row.verdict === "accepted",
  rejected: (row) => row.verdict === "rejected",
};

function fits(row) {
  const part = $("find").value.trim().toLowerCase();
  return (!$("project").value || row.project === $("project").value)
    && FITS[$("show").value](row) && row.id.toLowerCase().includes(part);
}

async function listAgain() {
  state.functions = await ask("functions", { as: state.name });
  drawList();
}

function drawList() {
  const rows = state.functions.filter(fits);
  const place = rows.findIndex((row) => row.id === state.shown?.id);
  const voted = state.functions.filter((row) => row.voted).length;
  $("progress").textContent = `${voted} of ${state.functions.length} voted by you`;
  $("position").textContent = rows.length ? `${place < 0 ? "–" : place + 1} of ${rows.length}` : "none";
  $("previous").disabled = !neighbour(-1);
  $("next").disabled = !neighbour(1);
  $("list").firstElementChild.replaceChildren(...rows.map(drawRow));
}

function drawRow(row) {
  const marks = [row.voted ? "voted" : "to vote", row.votes < row.wanted ? `${row.votes} of ${row.wanted} votes` : `${row.votes} votes`];
  if (row.decided) marks.push("decided");
  if (row.verdict !== "open") marks.push(row.verdict);
  const button = make("button", { type: "button", onclick: () => go(row.id) },
    make("span", { className: "id" }, ...breakable(row.id)), make("span", { className: "mark" }, marks.join(" · ")));
  button.setAttribute("aria-current", String(row.id === state.shown?.id));
  return make("li", {}, button);
}

// By place in the whole list: a function that has just left the filter still has neighbours.
function neighbour(step) {
  const at = state.functions.findIndex((row) => row.id === state.shown?.id);
  const side = step > 0 ? state.functions.slice(at + 1) : state.functions.slice(0, Math.max(at, 0)).reverse();
  return side.find(fits);
}

async function walk(step) {
  const row = neighbour(step);
  if (row) await go(row.id);
}

function filter() {
  if (!state.functions.some((row) => row.id === state.shown?.id && fits(row)) && !isEditing()) {
    const first = state.functions.find(fits);
    $("empty").hidden = Boolean(first);
    document.querySelector("main").hidden = !first;
    if (first) return void go(first.id);
    state.shown = null;
  } else {
    $("empty").hidden = true;
  }
  remember();
  drawList();
}

// ---- one function ----------------------------------------------------------------------------------------------------

async function go(id) {
  if (isEditing() && $("text").value !== state.shown.prompt) {
    complain("The prompt is not saved yet. Save it, or discard the change.");
    return $("text").focus();
  }
  const turn = (state.turn += 1);
  closeEditor();
  try {
    const unread = (error) => ({ code: `# ${error.message}`, tests: [] });
    const [shown, source] = await Promise.all([ask("function", { as: state.name, id }), ask("source", { id }).catch(unread)]);
    if (turn !== state.turn) return; // somebody was faster and went on
    const other = state.shown?.id !== id;
    Object.assign(state, { shown, source });
    complain("");
    tell("");
    $("empty").hidden = true;
    document.querySelector("main").hidden = false;
    drawReading();
    drawActing();
    if (other) for (const part of ["reading", "acting", "code"]) $(part).scrollTo(0, 0);
    remember();
    drawList();
  } catch (error) {
    complain(error.message);
  }
}

function drawReading() {
  const { shown, source } = state;
  $("function").replaceChildren(...breakable(shown.id));
  $("path").textContent = shown.path;
  const measures = { ...shown.measures };
  if ("mutants" in measures && "killed" in measures) {
    measures["mutants killed"] = `${measures.killed} of ${measures.mutants}`;
    delete measures.mutants;
    delete measures.killed;
  }
  const names = { loc: "lines" };
  $("measures").replaceChildren(...Object.entries(measures).map(([name, value]) =>
    make("div", {}, make("dt", {}, names[name] ?? name), make("dd", {}, String(value)))));
  $("code").replaceChildren(...colour(source.code));
  $("tests-heading").textContent = `Tests (${shown.measures.tests})`;
  $("tests").replaceChildren(...source.tests.map((test, index) =>
    make("details", { open: index < 3 }, make("summary", {}, ...breakable(test.id)),
      make("pre", { tabIndex: 0, ariaLabel: `Code of ${test.id}` }, ...colour(test.code)))));
}

function drawActing() {
  drawAxes();
  drawOthers();
  drawPrompt();
  drawVerdict();
}

function drawAxes() {
  const { mine } = state.shown;
  const focused = document.activeElement?.dataset?.slug;
  $("axes").replaceChildren(...state.axes.map(({ axis, labels }) =>
    make("fieldset", { disabled: mine.seen }, make("legend", {}, axis), ...labels.map((label) => {
      const button = make("button", { type: "button", className: "label", onclick: () => vote(axis, label.slug) },
        make("kbd", {}, label.key), make("span", {}, make("b", {}, words(label.slug)), " ", make("small", {}, label.definition)));
      button.dataset.slug = label.slug;
      button.setAttribute("aria-pressed", String(mine.labels[axis] === label.slug));
      return button;
    }))));
  if (focused) $("axes").querySelector(`[data-slug="${focused}"]`)?.focus();
  if (document.activeElement !== $("note")) $("note").value = mine.note;
}

function drawOthers() {
  const { mine, others, others_count: count } = state.shown;
  const people = count === 1 ? "1 other has voted" : `${count || "No"} others have voted`;
  if (!others) {
    const button = make("button", { type: "button", id: "reveal", disabled: !mine.complete, onclick: reveal },
      "Show the others’ votes ", make("kbd", {}, "v"));
    const rule = mine.complete ? "Yours is complete. Once you look, it stands." : "Shown when yours is complete.";
    return $("others").replaceChildren(make("p", {}, `${people}. ${rule}`), button);
  }
  const all = [{ annotator: `${state.name} (you)`, labels: mine.labels, note: mine.note }, ...others];
  const axes = state.axes.map(({ axis }) => axis);
  const head = ["", ...axes, "note"].map((title) => make("th", { scope: "col" }, title));
  const rows = all.map((ballot) => make("tr", {}, make("th", { scope: "row" }, ballot.annotator),
    ...axes.map((axis) => {
      const differs = ballot.labels[axis] !== mine.labels[axis];
      return make("td", { className: differs ? "differs" : "" }, words(ballot.labels[axis]), differs ? " ≠" : "");
    }), make("td", {}, ballot.note)));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  $("others").replaceChildren(make("p", {}, `${people}. Your vote stands; differences are discussed.`),
    make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "All votes" }, table));
}

function drawPrompt() {
  const { prompt, prompt_by: by, is_draft: draft } = state.shown;
  $("prompt").textContent = prompt || "There is no prompt yet.";
  $("prompt-by").textContent = by ? `${draft ? "drafted" : "last changed"} by ${by}` : "";
}

function drawVerdict() {
  const { accepted, rejected } = state.shown;
  const lines = [
    ...accepted.map((name) => make("li", { className: "good" }, `${name} accepts it`)),
    ...Object.entries(rejected).map(([name, reason]) => make("li", { className: "bad" }, `${name} rejects it: ${reason}`)),
  ];
  $("verdict").replaceChildren(...(lines.length ? lines : [make("li", {}, "No decision yet.")]));
}

// ---- what a person does ----------------------------------------------------------------------------------------------

const vote = (axis, slug) => send("vote", { labels: { [axis]: slug } }, `Saved: ${axis} ${words(slug)}`);
const reveal = () => send("reveal", {}, "Your vote stands");
const accept = () => send("accept", { shown: state.shown.prompt }, "Saved: accepted");

function noteWritten() {
  if ($("note").value !== state.shown.mine.note) send("vote", { note: $("note").value }, "Saved: note");
}

const isEditing = () => !$("editor").hidden;

function openEditor() {
  $("text").value = state.shown.prompt;
  for (const [id, hidden] of [["editor", false], ["prompt", true], ["edit", true]]) $(id).hidden = hidden;
  $("text").focus();
}

function closeEditor() {
  for (const [id, hidden] of [["editor", true], ["prompt", false], ["edit", false]]) $(id).hidden = hidden;
}

async function savePrompt() {
  const text = $("text").value;
  if (!text.trim()) return complain("A prompt cannot be empty.");
  if (await send("rewrite", { prompt: text, shown: state.shown.prompt }, "Saved: prompt")) {
    closeEditor();
    $("edit").focus();
  } else if (isEditing()) {
    $("prompt").hidden = false; // somebody else's text, to compare with
  }
}

function leaveEditor() {
  if ($("text").value !== state.shown.prompt) return complain("The prompt is not saved yet. Save it, or discard the change.");
  closeEditor();
  $("edit").focus();
}

function openReject() {
  $("reason").value = state.shown.rejected[state.name] ?? "";
  $("reject-dialog").returnValue = "";
  $("reject-dialog").showModal();
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  $("theme").textContent = `Theme: ${theme}`;
}

function nextTheme() {
  const themes = ["auto", "light", "dark"];
  setTheme(themes[(themes.indexOf(localStorage.getItem("theme")) + 1) % themes.length]);
}

function toggleList(open = $("list").hidden) {
  $("list").hidden = !open;
  $("list-toggle").setAttribute("aria-expanded", String(open));
}

// A key waits until the one before has done its work: whoever goes on and votes at once means the function gone to.
let line = Promise.resolve();

function inLine(action) {
  line = line.then(() => (isBusy() ? undefined : action()));
}

// A field of a dialog that was closed keeps the focus until the next frame; a key that comes before is not for it.
const isTyping = (element) => Boolean(element?.matches("input, textarea, select") && element.checkVisibility());
const isBusy = () => Boolean(document.querySelector("dialog[open]") || isTyping(document.activeElement));

const ACTIONS = {
  n: () => walk(1),
  p: () => walk(-1),
  v: () => void reveal(),
  c: () => $("note").focus(),
  m: openEditor,
  o: () => void accept(),
  x: openReject,
  l: () => toggleList(),
  "/": () => $("find").focus(),
  "?": () => $("help-dialog").showModal(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape" && event.target.id !== "text") event.target.blur();
    return;
  }
  const key = event.key.toLowerCase();
  if (!state.shown && !"l/?".includes(key)) return;
  const found = state.axes.flatMap(({ axis, labels }) => labels.map((label) => ({ axis, ...label })))
    .find((label) => label.key === key);
  const action = found ? () => void vote(found.axis, found.slug) : ACTIONS[key];
  if (!action || (event.repeat && !"np".includes(key))) return;
  event.preventDefault();
  inLine(action);
}

function onCtrlEnter(element, action) {
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    action();
  });
}

// ---- beginning -------------------------------------------------------------------------------------------------------

function askName() {
  $("name").value = state.name;
  $("name-dialog").returnValue = "";
  $("name-dialog").showModal();
}

async function begin(name) {
  state.name = name;
  $("who").textContent = name;
  const place = recall();
  try {
    state.axes = await ask("labels");
    state.functions = await ask("functions", { as: name });
  } catch (error) {
    return complain(error.message);
  }
  localStorage.setItem("name", name);
  const projects = [...new Set(state.functions.map((row) => row.project))];
  $("project").replaceChildren(make("option", { value: "" }, "all"), ...projects.map((project) => make("option", {}, project)));
  $("project").value = projects.includes(place.project) ? place.project : "";
  $("show").value = place.show in FITS ? place.show : "";
  $("find").value = place.find ?? "";
  const known = state.functions.some((row) => row.id === place.id);
  const first = state.functions.find((row) => fits(row) && FITS.mine(row)) ?? state.functions.find(fits);
  if (known || first) await go(known ? place.id : first.id);
  else filter();
}

function listen() {
  document.addEventListener("keydown", pressed);
  const clicks = {
    who: askName, theme: nextTheme, help: ACTIONS["?"], next: ACTIONS.n, previous: ACTIONS.p, edit: openEditor,
    accept, reject: openReject, "list-toggle": ACTIONS.l,
    discard: () => { complain(""); closeEditor(); $("edit").focus(); },
    "reject-cancel": () => $("reject-dialog").close(""),
  };
  for (const [id, action] of Object.entries(clicks)) $(id).addEventListener("click", () => action());
  for (const id of ["project", "show"]) $(id).addEventListener("change", filter);
  $("find").addEventListener("input", filter);
  $("note").addEventListener("change", noteWritten);
  $("note").addEventListener("keydown", (event) => { if (event.key === "Enter") $("note").blur(); });
  $("editor").addEventListener("submit", (event) => { event.preventDefault(); savePrompt(); });
  onCtrlEnter($("text"), savePrompt);
  onCtrlEnter($("reason"), () => $("reason").form.requestSubmit($("reject-dialog").querySelector(".strong")));
  $("text").addEventListener("keydown", (event) => { if (event.key === "Escape") leaveEditor(); });
  $("reject-dialog").addEventListener("close", () => {
    if ($("reject-dialog").returnValue === "reject") send("reject", { reason: $("reason").value }, "Saved: rejected");
  });
  $("name-dialog").addEventListener("close", () => {
    const name = $("name").value.toLowerCase();
    if ($("name-dialog").returnValue === "begin") begin(name);
    else if (!state.name) askName();
  });
  window.addEventListener("beforeunload", (event) => {
    if (state.pending || (isEditing() && $("text").value !== state.shown.prompt)) event.preventDefault();
  });
}

setTheme(localStorage.getItem("theme") ?? "auto");
toggleList(window.innerWidth >= 1500);
listen();
const known = recall().as ?? localStorage.getItem("name");
if (known) begin(known);
else askName();
