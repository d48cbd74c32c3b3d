"""What runs inside the sandbox, by the project's own interpreter: the standard library, pytest, and nothing of dlbench.

These files are shown to the sandbox as a package of their own. A candidate runs in the same process as what is here, so
nothing of it may be found by name: the package is gone from `sys.modules` before a candidate's first line runs, and
state lives in local variables only.
"""
