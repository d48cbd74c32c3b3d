// One instance: its prompt, the candidates of each run, and the outcomes of its tests.

const OUTCOMES = { p: "passed", f: "failed", e: "error", s: "skipped", n: "not run" };
const MARKS = { pass: "✓", fail: "✗" };

async function readBundle(id) {
  page.bundles ??= block("bundles");
  const at = page.index.instances.findIndex((instance) => instance.id === id);
  return unpack(page.bundles[at]);
}

async function showInstance(place) {
  const instance = page.index.instances.find((one) => one.id === place.id);
  if (!instance) return complain(`There is no instance ${place.id} on this page.`);
  const bundle = await readBundle(place.id);
  if (readPlace().id !== place.id) return; // somebody was faster and went on
  const { view, id, sample, show, of, ...filters } = place;
  page.rows = choose(filters);
  $("instance").replaceChildren(
    drawWalk(instance, filters),
    make("h2", {}, ...breakable(instance.id)),
    make("p", { className: "path" }, `${instance.path} · ${instance.project} ${instance.release}`),
    drawFacts(instance),
    make("h3", {}, "Prompt"), make("div", { className: "prompt" }, ...prose(instance.prompt)),
    ...drawCode(bundle), ...(bundle.runs ? drawRuns(bundle, place) : drawTests(bundle.tests.map((test) => ({ test })))),
  );
}

function drawWalk(instance, filters) {
  const at = page.rows.findIndex((row) => row.id === instance.id);
  const link = (row, text, key) => (row
    ? make("a", { href: address({ view: "instance", id: row.id, ...filters }), "data-key": key, title: `key ${key}` }, text)
    : make("span", { className: "soft" }, text));
  const where = at < 0 ? "not among those filtered" : `${at + 1} of ${page.rows.length}`;
  return make("nav", { className: "walk", ariaLabel: "Instances" },
    make("a", { href: address({ view: "instances", ...filters }), "data-key": "u", title: "key u" }, "All instances"),
    make("span", { className: "steps" }, link(page.rows[at - 1], "Previous", "p"), make("span", { className: "soft" }, where),
      link(at < 0 ? page.rows[0] : page.rows[at + 1], "Next", "n")));
}

function drawFacts(instance) {
  const { loc, cyclomatic, cognitive, mutants, mutants_killed: killed, seconds } = instance.measures;
  const facts = {
    ...Object.fromEntries(page.index.axes.map((axis) => [axis, words(instance[axis])])), framework: instance.framework,
    "first released": instance.introduced, difficulty: page.index.guessed && instance.difficulty !== "unknown" ? `${instance.difficulty} (guessed)` : instance.difficulty,
    lines: loc, "cyclomatic complexity": cyclomatic, "cognitive complexity": cognitive,
    "mutants killed": mutants ? `${killed} of ${mutants} (${percent(killed / mutants)})` : undefined,
    "tests take": seconds === undefined ? undefined : `${seconds} s`, votes: tellVotes(instance.votes),
  };
  return make("dl", { className: "facts" }, ...Object.entries(facts).filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
}

function tellVotes(votes) {
  if (!votes) return "";
  const tell = (axis) => {
    const counts = new Map();
    for (const vote of votes[axis]) counts.set(vote, (counts.get(vote) ?? 0) + 1);
    return counts.size > 1 ? `${axis}: ${[...counts].map(([label, count]) => `${words(label)} ${count}`).join(", ")}` : "";
  };
  const split = ["stage", "task", "data"].map(tell).filter(Boolean);
  const count = votes.stage.length;
  return count ? (split.length ? `${split.join("; ")}` : `all ${count} alike`) : "";
}

function drawCode(bundle) {
  if (bundle.note) return [make("p", { className: "note" }, bundle.note)];
  const parts = [make("h3", {}, "Signature"), listing(bundle.signature, "Signature")];
  if (bundle.skeleton) parts.push(make("details", {}, make("summary", {}, "Class skeleton"), listing(bundle.skeleton, "Class skeleton")));
  parts.push(make("details", {}, make("summary", {}, "Reference, without its docstring"), listing(bundle.reference, "Reference")));
  return parts;
}

// ---- candidates and verdicts ------------------------------------------------------------------------------------------

function drawRuns(bundle, place) {
  const all = bundle.runs.flatMap((rows, run) => rows.map((row) => ({ ...row, run })));
  const chosen = all.find((row) => row.run + 1 === Number(place.of) && row.sample === Number(place.sample)) ?? all[0];
  const rows = page.index.runs.map((run, at) => make("tr", {},
    make("th", { scope: "row" }, mark(at), `${at + 1} ${run.name}`),
    make("td", { className: "chips" }, ...(bundle.runs[at].length ? bundle.runs[at].map((row) => drawChip(row, at, chosen, place)) : ["not asked"]))));
  return [make("h3", { id: "answers" }, "Answers"),
    make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Answers by run" }, make("table", { className: "answers" }, make("tbody", {}, ...rows))),
    ...(chosen ? drawCandidate(bundle, chosen, place) : [])];
}

function drawChip(row, at, chosen, place) {
  const pressed = at === chosen.run && row.sample === chosen.sample;
  const name = `${page.index.runs[at].name}, sample ${row.sample}: ${words(row.status)}`;
  const chip = make("button", { type: "button", className: `chip ${row.status}`, title: name, ariaLabel: name,
    onclick: () => chooseCandidate({ ...place, of: at + 1, sample: row.sample }) }, `${MARKS[row.status] ?? ""} ${MARKS[row.status] ? row.sample : `${words(row.status)} ${row.sample}`}`);
  chip.setAttribute("aria-pressed", String(pressed));
  return chip;
}

async function chooseCandidate(place) {
  const [across, down, label] = [scrollX, scrollY, document.activeElement?.ariaLabel];
  history.replaceState(null, "", address(place));
  await showInstance(place);
  scrollTo(across, down);
  [...document.querySelectorAll(".chip, .tab")].find((one) => one.ariaLabel === label)?.focus({ preventScroll: true });
}

function drawCandidate(bundle, row, place) {
  const text = row.text === undefined ? undefined : bundle.texts[row.text];
  const facts = `${words(row.status)}, ${row.outcomes.split("p").length - 1} of ${some(bundle.tests.length, "test")} passed, ${row.seconds.toFixed(1)} s, ${row.memory.toFixed(0)} MB`;
  const parts = [make("h3", {}, mark(row.run), `${page.index.runs[row.run].name}, sample ${row.sample}`), make("p", { className: "soft" }, facts)];
  if (row.message !== undefined) parts.push(make("pre", { className: "message", tabIndex: 0, role: "region", ariaLabel: "Message" }, bundle.texts[row.message]));
  if (row.trajectory) parts.push(...drawTrajectory(row.trajectory));
  else if (text === undefined) parts.push(make("p", { className: "note" }, "The answer is not on this page: the run folder does not contain it, or it is the project's own code."));
  else parts.push(...drawText(bundle, row, text, place));
  const tests = bundle.tests.map((test, at) => ({ test, outcome: OUTCOMES[row.outcomes[at]], error: bundle.texts[row.errors?.[at]] }));
  return [...parts, ...drawTests(tests)];
}

function drawText(bundle, row, text, place) {
  const diffs = row.code && bundle.reference !== undefined;
  const shown = diffs && place.show === "diff" ? "diff" : "code";
  const tab = (kind, title) => {
    const button = make("button", { type: "button", className: "tab", ariaLabel: title, onclick: () => chooseCandidate({ ...place, of: row.run + 1, sample: row.sample, show: kind }) }, title);
    button.setAttribute("aria-pressed", String(kind === shown));
    return button;
  };
  const parts = [];
  if (diffs) parts.push(make("p", { className: "tabs" }, tab("code", "Code"), tab("diff", "Difference to the reference")));
  if (!row.code) parts.push(make("p", { className: "note" }, "No code was found in the answer, which reads:"));
  if (shown === "diff") parts.push(drawDiff(bundle.reference, text));
  else parts.push(row.code ? listing(text, "Candidate") : make("pre", { tabIndex: 0, role: "region", ariaLabel: "Answer", className: "answer" }, text));
  if (row.cut) parts.push(make("p", { className: "note" }, `${row.cut} more characters are left out.`));
  return parts;
}

function drawTests(tests) {
  const judged = tests.some(({ outcome }) => outcome);
  const hasMessages = tests.some(({ error }) => error);
  const head = ["test", ...(judged ? ["outcome"] : []), ...(hasMessages ? ["message"] : [])].map((name) => make("th", { scope: "col" }, name));
  const rows = tests.map(({ test, outcome, error }) => make("tr", {}, make("th", { scope: "row", className: "id" }, ...breakable(test)),
    judged ? make("td", { className: `outcome ${outcome.replace(" ", "_")}` }, outcome) : null,
    hasMessages ? make("td", { className: "error" }, error ?? "") : null));
  return [make("h3", {}, `Tests (${tests.length})`),
    make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Tests" },
      make("table", { className: "tests" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)))];
}
