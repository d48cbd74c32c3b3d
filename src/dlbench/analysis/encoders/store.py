"""How is nothing encoded twice? A thousand prompts take minutes, and a study is asked again and again.

Vectors are kept in the workspace, a file an encoder, found by the text's hash; each batch is kept before the next is
taken, so that a kill costs one batch.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from dlbench.analysis.encoders.naming import Encoder, Vectors
from dlbench.errors import DLBenchError
from dlbench.workspace.home import home, make_folder, quiet

BATCH = 32


def encode_all(encoder: Encoder, texts: Sequence[str], advance: Callable[[str], None] = quiet) -> Vectors:
    """A row a text; `advance` is called once for each. Texts of like length go together, which takes half the time."""
    path = _find_file(encoder)
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    try:
        with closing(sqlite3.connect(path, timeout=60)) as store:
            store.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            known: dict[bytes, bytes] = dict(store.execute("SELECT text, vector FROM vectors"))
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            order = sorted(missing, key=lambda key: (len(missing[key]), key))
            for _ in range(len(texts) - len(missing)):
                advance("kept from before")
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                found = encoder.encode([missing[key] for key in batch]).astype("<f4")
                rows = [(key, vector.tobytes()) for key, vector in zip(batch, found, strict=True)]
                with store:
                    store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                known.update(rows)
                for _ in batch:
                    advance(encoder.name)
    except sqlite3.Error as error:
        mend = "remove the file, or make room on the disk; vectors are made again"
        raise DLBenchError(f"the store of vectors cannot be used: {error}", where=str(path), mend=mend) from None
    return np.array([np.frombuffer(known[key], dtype="<f4") for key in keys], dtype=np.float32)


def _find_file(encoder: Encoder) -> Path:
    folder = home() / "vectors"
    make_folder(folder)
    return folder / f"{hashlib.sha256(encoder.mark.encode()).hexdigest()[:16]}.sqlite"
