"""The harness that runs inside the sandbox, in the project's own interpreter.

It uses the standard library and pytest, and nothing of dlbench. A candidate runs in the same process, so nothing of the
harness may be found by name: the package leaves `sys.modules` before a candidate's first line runs, and state lives in
local variables only.
"""
