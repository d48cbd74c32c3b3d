"""Ask the same thing in other words, let the model write tests too, and let solutions and tests vote.

One prompt gives one answer, and a model that fails on it may have known better under another phrasing. What is here
makes variants of a prompt that mean the same, runs every solution on every test that the model wrote, and chooses the
solution on which most agree, without the project's own tests.
"""
