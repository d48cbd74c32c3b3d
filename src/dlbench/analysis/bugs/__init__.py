"""Why do candidates fail? Evidence, rules that read it, votes of models and people, and failures planted to measure by."""
