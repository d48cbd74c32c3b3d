"""How do people say which kind of bug it is? On a page of this machine."""
