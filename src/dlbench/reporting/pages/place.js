// The URL stores the view: every view, filter and candidate has a link, and the back button works.

function readPlace() {
  const hash = location.hash.slice(1);
  if (!hash.includes("=")) return { view: hash ? "overview" : "", anchor: hash };
  return Object.fromEntries(new URLSearchParams(hash));
}

function address(place) {
  const entries = Object.entries(place).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return `#${new URLSearchParams(entries)}`;
}

function goTo(place, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address(place));
  showPlace();
}
