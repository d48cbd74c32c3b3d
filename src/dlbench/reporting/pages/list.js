// The list of instances: filters on top, one row per instance, one column per run.

const SORTS = {
  id: ["name", (a, b) => a.id.localeCompare(b.id)],
  hard: ["hardest first", (a, b) => solved(a) - solved(b) || a.id.localeCompare(b.id)],
  easy: ["easiest first", (a, b) => solved(b) - solved(a) || a.id.localeCompare(b.id)],
  long: ["longest first", (a, b) => (b.measures.loc ?? 0) - (a.measures.loc ?? 0)],
  new: ["newest first", (a, b) => b.introduced.localeCompare(a.introduced)],
  split: ["runs differ most", (a, b) => spread(b) - spread(a) || a.id.localeCompare(b.id)],
};
const page = { index: null, bundles: null, filters: {}, rows: [] };

const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
const share = (counts) => (counts.pass ?? 0) / total(counts);

function shares(instance) {
  return (instance.results ?? []).filter(Boolean).map(share);
}

function solved(instance) {
  const found = shares(instance);
  return found.length ? found.reduce((sum, one) => sum + one, 0) / found.length : 0;
}

function spread(instance) {
  const found = shares(instance);
  return found.length ? Math.max(...found) - Math.min(...found) : 0;
}

// ---- filters ---------------------------------------------------------------------------------------------------------

function field(key, name, control) {
  control.id = `filter-${key}`;
  control.name = key;
  control.addEventListener("input", () => goTo({ view: "instances", ...readFilters() }, { replace: true }));
  return make("label", {}, make("span", {}, name), control);
}

function choice(key, name, values, every = "all") {
  const options = values.map(([value, shown]) => make("option", { value }, shown));
  return field(key, name, make("select", {}, make("option", { value: "" }, every), ...options));
}

function drawFilters() {
  const { facets, runs, statuses, guessed } = page.index;
  const fields = [field("q", "Search", make("input", { type: "search", autocomplete: "off", spellcheck: false, placeholder: "name or prompt  ( / )" }))];
  if (runs.length) {
    fields.push(choice("run", "Run", runs.map((run, place) => [String(place + 1), `${place + 1} ${run.name}`]), "any"));
    const seen = statuses.filter((status) => page.index.instances.some((one) => one.results.some((counts) => counts?.[status])));
    fields.push(choice("status", "Status", seen.map((status) => [status, words(status)]), "any"));
  }
  for (const { key, values } of facets) {
    const name = key[0].toUpperCase() + key.slice(1);
    const shown = key === "difficulty" && guessed ? `${name} (guessed)` : name;
    fields.push(choice(key, shown, values.map((value) => [value, words(value)])));
  }
  fields.push(field("since", "Since", make("input", { type: "date" })));
  const sorts = Object.entries(SORTS).filter(([key]) => runs.length > 1 || (key !== "split" && (runs.length || !["hard", "easy"].includes(key))));
  fields.push(choice("sort", "Sort by", sorts.slice(1).map(([key, [label]]) => [key, label]), "name"));
  $("filters").replaceChildren(...fields);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", () => goTo({ view: "instances" }));
}

function readFilters() {
  return Object.fromEntries([...$("filters").elements].filter((one) => one.name).map((one) => [one.name, one.value]));
}

function fillFilters(place) {
  for (const one of $("filters").elements) {
    if (one.name && one !== document.activeElement) one.value = place[one.name] ?? "";
    if (one.name && one.value !== (place[one.name] ?? "")) one.value = place[one.name] ?? "";
  }
}

function fits(instance, filters) {
  const { facets } = page.index;
  if (facets.some(({ key }) => filters[key] && instance[key] !== filters[key])) return false;
  if (filters.since && instance.introduced < filters.since) return false;
  const terms = (filters.q ?? "").trim().toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${instance.id} ${instance.prompt}`.toLowerCase();
  if (!terms.every((word) => text.includes(word))) return false;
  if (!filters.run && !filters.status) return true;
  const looked = filters.run ? [instance.results?.[Number(filters.run) - 1]] : instance.results ?? [];
  return looked.some((counts) => counts && (!filters.status || counts[filters.status]));
}

function choose(filters) {
  const sort = SORTS[filters.sort] ?? SORTS.id;
  return page.index.instances.filter((instance) => fits(instance, filters)).sort(sort[1]);
}

// ---- rows ------------------------------------------------------------------------------------------------------------

function drawList(place) {
  const { view, id, sample, show, ...filters } = place;
  page.filters = filters;
  page.rows = choose(filters);
  fillFilters(filters);
  const shownRuns = page.index.runs.map((run, at) => ({ ...run, at })).filter(({ at }) => !filters.run || at === Number(filters.run) - 1);
  $("found").textContent = page.rows.length === page.index.instances.length
    ? some(page.rows.length, "instance") : `${page.rows.length} of ${some(page.index.instances.length, "instance")}`;
  $("found-runs").replaceChildren(...shownRuns.map(drawStanding));
  const headings = [["instance", ""], ...page.index.axes.map((axis) => [axis, "minor"]), ["lines", "number minor"], ["since", "minor"],
    ...(page.index.runs.length ? [] : [["tests", "number"], ["difficulty", ""]])];
  const head = [...headings.map(([name, kind]) => make("th", { scope: "col", className: kind }, name)),
    ...shownRuns.map(({ name, at }) => make("th", { scope: "col", className: "number", title: name }, String(at + 1)))];
  $("list").replaceChildren(make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...page.rows.map((instance) => drawRow(instance, shownRuns))));
  $("list").parentElement.hidden = !page.rows.length;
  $("none").hidden = page.rows.length > 0;
}

function drawStanding({ name, at }) {
  const found = page.rows.map((instance) => instance.results[at]).filter(Boolean).map(share);
  const score = found.length ? `${percent(found.reduce((sum, one) => sum + one, 0) / found.length)} of ${found.length}` : "none";
  return make("li", {}, mark(at), make("span", {}, `${at + 1} ${name} `), make("strong", {}, score));
}

function drawRow(instance, runs) {
  const cell = (text, kind = "minor") => make("td", { className: kind }, text);
  const link = make("a", { href: address({ view: "instance", id: instance.id, ...page.filters }) }, ...breakable(instance.id));
  const more = page.index.runs.length ? [] : [cell(String(instance.tests), "number"), cell(instance.difficulty, "")];
  return make("tr", {}, make("th", { scope: "row", className: "id" }, link),
    ...page.index.axes.map((axis) => cell(words(instance[axis]))),
    cell(String(instance.measures.loc ?? "–"), "number minor"), cell(instance.introduced, "nowrap minor"),
    ...more, ...runs.map(({ at, name }) => drawResult(instance.results[at], name)));
}

function drawResult(counts, name) {
  if (!counts) return make("td", { className: "number soft" }, "–");
  const samples = total(counts);
  const passed = counts.pass ?? 0;
  const worst = Object.entries(counts).filter(([status]) => status !== "pass").sort((a, b) => b[1] - a[1])[0]?.[0];
  const listed = Object.entries(counts).map(([status, count]) => `${words(status)} ${count}`).join(", ");
  const shown = samples === 1 ? (passed ? "✓" : words(worst)) : `${passed}/${samples}`;
  const kind = passed === samples ? "all" : passed ? "part" : "no";
  return make("td", { className: `number result ${kind}`, title: `${name}: ${listed}` }, shown);
}
