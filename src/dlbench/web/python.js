// Highlight Python with text nodes and spans only. Not a parser: wrong colours do no harm. Requires `make`.

const KEYWORDS = "False None True and as assert async await break case class continue def del elif else except finally for"
  + " from global if import in is lambda match nonlocal not or pass raise return try while with yield";
const TOKEN = new RegExp([
  /(?<comment>#[^\n]*)/,
  /(?<string>[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
  new RegExp(`(?<keyword>\\b(?:${KEYWORDS.replaceAll(" ", "|")})\\b)`),
  /(?<number>\b\d[\w.]*)/,
  /(?<name>\w+)/,
].map((part) => part.source).join("|"), "g");

function colour(code) {
  const parts = [];
  let end = 0;
  for (const found of code.matchAll(TOKEN)) {
    const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
    if (kind === "name") continue;
    parts.push(code.slice(end, found.index), make("span", { className: kind }, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, code.slice(end)];
}
