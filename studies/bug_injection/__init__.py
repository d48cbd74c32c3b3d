"""Inject known bugs into references, to measure how well `dlbench analyze bugs` classifies failures."""
