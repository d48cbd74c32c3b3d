// Code and prompts as elements.

function listing(code, label) {
  return make("pre", { tabIndex: 0, role: "region", ariaLabel: label }, ...colour(code));
}

// Text between backticks, single or double, as code, the rest unchanged.
function prose(text) {
  return text.split(/(``[^\n]+?``|`[^`\n]+`)/).map((part) => {
    const code = part.match(/^(``?)([^`\n].*)\1$/);
    return code ? make("code", {}, code[2]) : part;
  });
}
