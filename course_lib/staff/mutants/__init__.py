"""What single edits of a right answer do that nobody has thought of yet: see __main__."""
