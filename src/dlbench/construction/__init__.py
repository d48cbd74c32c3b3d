"""How does a project become verified instances? In nine steps, each of which reads and writes plain files."""
