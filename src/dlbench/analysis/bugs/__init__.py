"""Why do candidates fail? Evidence, rules that read it, votes, and planted failures to measure by."""
