"""What runs inside the sandbox beside pytest, where a project's tests are collected or traced and nothing is judged.

A package of its own, as that of the meetings is: what decides a verdict, and what was rehearsed with it, stays as it
was.
"""
