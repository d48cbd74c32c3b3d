"""Which stage, task and kind of data does a prompt belong to? A classifier that is trained, measured and asked."""
