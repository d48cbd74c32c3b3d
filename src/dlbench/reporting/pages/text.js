// Code and prompts as elements.

function listing(code, label) {
  return make("pre", { tabIndex: 0, role: "region", ariaLabel: label }, ...colour(code));
}

// Words between backticks as code, all else as it stands.
function prose(text) {
  return text.split(/(`[^`\n]+`)/).map((part) =>
    part.length > 2 && part.startsWith("`") && part.endsWith("`") ? make("code", {}, part.slice(1, -1)) : part);
}
