"""What a learner sees of a check, and what is kept of it beside the notebooks."""
