// Switch between views, and keyboard shortcuts.

const VIEWS = ["overview", "instances", "instance"];

async function showPlace() {
  const place = readPlace();
  const view = VIEWS.includes(place.view) ? place.view : page.index.kind === "browse" ? "instances" : "overview";
  complain("");
  for (const one of VIEWS) $(one).hidden = one !== view;
  for (const link of document.querySelectorAll("header nav a")) {
    link.ariaCurrent = link.dataset.view === view || (link.dataset.view === "instances" && view === "instance") ? "page" : "false";
  }
  if (view === "instances") drawList(place);
  if (view === "instance") await showInstance(place);
  document.title = view === "instance" && place.id ? `${place.id} · ${page.title}` : page.title;
}

async function walkedTo() {
  await showPlace();
  const anchor = readPlace().anchor;
  if (anchor) $(anchor)?.scrollIntoView();
  else scrollTo(0, 0);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    if ($("instances").hidden) goTo({ view: "instances", ...page.filters });
    $("filter-q").focus();
    return;
  }
  if (!$("instance").hidden) $("instance").querySelector(`.walk [data-key="${CSS.escape(event.key)}"]`)?.click();
}

function drawContents() {
  const links = [...document.querySelectorAll("#overview > section")].map((section) =>
    make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
  $("contents").replaceChildren(...links);
}

async function begin() {
  beginTheme();
  page.title = document.title;
  drawContents();
  try {
    page.index = await unpack(block("index"));
  } catch {
    return complain("This browser cannot read the page's data; use one from the last three years. The overview is complete.");
  }
  drawFilters();
  addEventListener("hashchange", walkedTo);
  document.addEventListener("keydown", pressed);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is for views
    $("main").focus();
  });
  await walkedTo();
  document.documentElement.dataset.ready = "yes";
}

begin();
