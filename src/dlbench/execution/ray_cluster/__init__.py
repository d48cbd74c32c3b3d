"""Judge candidates on the nodes of a Ray cluster.

The driver keeps the schedule and the journal; actors on the nodes keep warm workers and give verdicts. Ray is an extra,
so only the functions that use it import it.
"""
