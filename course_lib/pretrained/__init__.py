"""Real pretrained weights, read into the course's own layers or into a learner's."""
