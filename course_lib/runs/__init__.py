"""Long trainings: checkpoints that nothing cuts short, and runs that a kill does not set back."""
