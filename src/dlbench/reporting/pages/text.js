// Code and prompts as elements.

function listing(code, label) {
  return make("pre", { tabIndex: 0, role: "region", ariaLabel: label }, ...colour(code));
}

// Text between backticks as code, the rest unchanged.
function prose(text) {
  return text.split(/(`[^`\n]+`)/).map((part) =>
    part.length > 2 && part.startsWith("`") && part.endsWith("`") ? make("code", {}, part.slice(1, -1)) : part);
}
