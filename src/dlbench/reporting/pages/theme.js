// Follows the system until the reader chooses; the choice is stored where the browser allows files to store data.

const THEMES = ["auto", "light", "dark"];
const kept = {
  read() {
    try { return localStorage.getItem("dlbench-theme"); } catch { return null; }
  },
  write(theme) {
    try { localStorage.setItem("dlbench-theme", theme); } catch { /* not stored */ }
  },
};

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("theme").textContent = `Theme: ${theme}`;
}

function beginTheme() {
  let theme = THEMES.includes(kept.read()) ? kept.read() : "auto";
  $("theme").hidden = false;
  $("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    kept.write(theme);
    setTheme(theme);
  });
  setTheme(theme);
}
