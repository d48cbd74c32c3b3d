"""Where are candidates judged when one machine is not enough? At seats on the nodes of a Ray cluster.

The driver keeps the schedule and the journal; a node keeps warm workers and gives verdicts. Ray is imported by the
functions that use it: it is an extra.
"""
