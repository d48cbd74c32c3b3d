"""The leaderboard: what was submitted, whether it is so, and the page that shows it."""
