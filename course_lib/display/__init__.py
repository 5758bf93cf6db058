"""What is shown: figures, drawings of a model, and progress bars where a person is watching."""
