"use strict";

const $ = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null)); // as text: what a model wrote is never markup
  return element;
}

const words = (slug) => page.index?.names[slug] ?? slug.replaceAll("_", " ");

// Long names break at separators, not within words.
const breakable = (name) => name.split(/(?<=[./_:])/).flatMap((part) => [part, make("wbr")]);

const some = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

const percent = (share) => `${(100 * share).toFixed(1)} %`;

// The shape and colour of a run, as in the plots.
function mark(place) {
  const shown = document.querySelectorAll("#runs .mark")[place];
  return shown ? shown.cloneNode(true) : null;
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const block = (id) => JSON.parse($(id).textContent);

function complain(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}
