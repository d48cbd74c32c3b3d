"""Which seed does one request get, so that chance falls anew for each?

Were it the run's seed plus the sample's number, all instances of a run would meet the same throw of the dice, and one
unlucky throw would show in all of them at once; and the second sample of one run would be the first of the next, so
that several runs would be fewer than they say. Both make the spread between runs wrong, and the intervals with it.
"""

import hashlib


def draw_seed(seed: int, instance: str, sample: int) -> int:
    """From 0 to 2^31 - 1, which every endpoint takes; the same on every machine."""
    digest = hashlib.sha256(f"{seed}\n{instance}\n{sample}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
