"""The dataset in the shapes that other tools read: prompts only, or with the references after their licences."""
