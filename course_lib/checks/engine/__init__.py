"""The engine of every check: questions, replies, comparisons, and what they show."""
