"""What the data and the failures say: complexity, relevance, how benchmarks and rankings relate to each other."""
