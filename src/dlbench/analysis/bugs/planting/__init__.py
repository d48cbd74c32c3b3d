"""Known bugs put into references, so that a classifier of bugs can be measured against a truth."""
