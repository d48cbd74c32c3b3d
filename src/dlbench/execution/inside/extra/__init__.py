"""What runs inside the sandbox beside pytest, where a project's tests are collected or traced and nothing is judged.

A package of its own, as that of the meetings is: what decides a verdict, and what was rehearsed with it, stays as it
was.

What runs inside the sandbox where solutions meet checks: tests that a model wrote, which nobody trusts either.

A package of its own beside the judge's files: what decides a verdict, and what was rehearsed with it, stays as it was.
"""
