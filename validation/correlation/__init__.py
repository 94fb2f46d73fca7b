"""Every public measured row beside the model: who measured what, what the model says, and how the two compare."""
