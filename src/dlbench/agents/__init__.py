"""Run coding agents on tasks: a sandbox for each attempt, a relay to the model as its only network, and an audit."""
