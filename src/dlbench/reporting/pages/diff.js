// Line diff from the reference to the candidate, by the longest common subsequence.

const MOST_CELLS = 4e6;
const AROUND = 4;

function compareLines(before, after) {
  const [a, b] = [before, after].map((text) => text.trimEnd().split("\n"));
  if (a.length * b.length > MOST_CELLS) return null;
  const wide = b.length + 1;
  const length = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      length[i * wide + j] = a[i] === b[j]
        ? length[(i + 1) * wide + j + 1] + 1
        : Math.max(length[(i + 1) * wide + j], length[i * wide + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: " ", text: a[i] });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || length[(i + 1) * wide + j] >= length[i * wide + j + 1])) {
      lines.push({ kind: "-", text: a[i] });
      i += 1;
    } else {
      lines.push({ kind: "+", text: b[j] });
      j += 1;
    }
  }
  return lines;
}

// Docstrings do not affect behaviour and are removed from both.
const bare = (code) => code.replace(/(:[ \t]*\n)[ \t]*[rR]?(?:"""[^]*?"""|'''[^]*?''')[ \t]*\n/, "$1");

// Dedent the candidate: the reference has no indentation.
function dedent(code) {
  const lines = code.split("\n");
  const depths = lines.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length);
  const depth = depths.length ? Math.min(...depths) : 0;
  return lines.map((line) => line.slice(depth)).join("\n");
}

// Long unchanged stretches are folded to a count.
function drawDiff(before, after) {
  const lines = compareLines(bare(before), bare(dedent(after)));
  if (!lines) return make("p", { className: "note" }, "Too long to compare here.");
  if (lines.every((line) => line.kind === " ")) return make("p", { className: "note" }, "The same as the reference.");
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.kind !== " "));
  const rows = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (near[at]) {
      const names = { "-": "removed", "+": "added", " ": "same" };
      rows.push(make("span", { className: `line ${names[lines[at].kind]}` }, `${lines[at].kind} ${lines[at].text}\n`));
    } else {
      const begin = at;
      while (at + 1 < lines.length && !near[at + 1]) at += 1;
      rows.push(make("span", { className: "line skipped" }, `… ${some(at - begin + 1, "line")} alike\n`));
    }
  }
  return make("pre", { tabIndex: 0, role: "region", ariaLabel: "Difference to the reference", className: "diff" }, ...rows);
}
