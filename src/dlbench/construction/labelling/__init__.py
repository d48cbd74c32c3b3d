"""What do people say of a function: its labels, its prompt, whether it shall be asked for? Step 9."""
