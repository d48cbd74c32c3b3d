// What an agent did: its steps with commands and outputs, and its patch.

const folded = (title, open, ...children) => make("details", { open }, make("summary", {}, title), ...children);

const output = (text, label) => make("pre", { tabIndex: 0, role: "region", ariaLabel: label, className: "answer" }, text);

function drawTrajectory(trajectory) {
  const { facts, leaks, steps, more_steps: more, log, patch } = trajectory;
  const tokens = ["prompt", "completion", "estimated"].reduce((sum, kind) => sum + (facts[`${kind}_tokens`] ?? 0), 0);
  const told = [`${(facts.seconds / 60).toFixed(1)} minutes`, some(facts.requests, "request"), some(tokens, "token"),
    facts.cost === null ? "" : `cost ${facts.cost}`, facts.stopped ? `limit reached: ${facts.stopped}` : ""];
  const parts = [make("p", { className: "soft" }, told.filter(Boolean).join(", "))];
  if (leaks.length) {
    const items = leaks.map(({ kind, what, count }) => make("li", {}, `${words(kind)}, ${count} times: `, make("code", {}, what)));
    parts.push(make("p", { className: "note" }, "It tried to reach more than the task shows:"), make("ul", { className: "leaks" }, ...items));
  }
  parts.push(make("h3", {}, `Steps (${steps.length + more})`), ...steps.map(drawStep));
  if (log !== undefined) parts.push(make("p", { className: "note" }, "The model was asked nothing that was recorded. The agent printed:"), output(log, "Output"));
  if (more) parts.push(make("p", { className: "note" }, `${some(more, "more step")} left out.`));
  return [...parts, ...drawPatch(patch, trajectory.more_patch)];
}

function drawStep({ says, calls, outputs, refused }, at) {
  const first = (calls[0] ?? says).trim().split("\n")[0];
  const parts = says ? [make("p", { className: "prompt" }, says)] : [];
  for (const call of calls) parts.push(make("pre", { tabIndex: 0, role: "region", ariaLabel: "Command" }, call));
  for (const text of outputs) parts.push(output(text, "Output"));
  for (const place of refused) parts.push(make("p", { className: "note" }, `Refused: ${place}`));
  return folded(`${at + 1}. ${first.slice(0, 100)}`, false, ...parts);
}

function drawPatch(patch, more) {
  if (!patch) return [make("h3", {}, "Changes"), make("p", { className: "note" }, "Nothing was changed.")];
  const files = patch.split(/^(?=diff --git )/m).map((text) => {
    const [head, ...lines] = text.trimEnd().split("\n");
    const kinds = { "+": "added", "-": "removed", "@": "skipped" };
    const rows = lines.map((line) => make("span", { className: `line ${kinds[line[0]] ?? "same"}` }, `${line}\n`));
    const name = head.replace(/^diff --git a\/(.*) b\/.*$/, "$1");
    return folded(name, true, make("pre", { tabIndex: 0, role: "region", ariaLabel: `Changes of ${name}`, className: "diff" }, ...rows));
  });
  return [make("h3", {}, "Changes"), ...files, ...(more ? [make("p", { className: "note" }, `${more} more characters are left out.`)] : [])];
}
