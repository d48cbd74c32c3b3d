"""How do other people's tools use the benchmark, and how does what they made come back? One folder a tool."""
