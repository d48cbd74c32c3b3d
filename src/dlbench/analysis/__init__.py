"""Studies of datasets, scores and failures: complexity, relevance, how benchmarks and rankings relate to each other."""
