// Where we are stands in the address: every view, filter and candidate can be linked to, and Back goes back.

function readPlace() {
  const hash = location.hash.slice(1);
  if (!hash.includes("=")) return { view: hash ? "overview" : "", anchor: hash };
  return Object.fromEntries(new URLSearchParams(hash));
}

function address(place) {
  const told = Object.entries(place).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return `#${new URLSearchParams(told)}`;
}

function goTo(place, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address(place));
  showPlace();
}
