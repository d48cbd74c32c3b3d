"""The judge as an HTTP service, and a client of it."""
