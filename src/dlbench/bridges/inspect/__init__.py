"""inspect-ai: our task, our judge as its scorer, and logs in both directions."""
