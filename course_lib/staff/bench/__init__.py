"""How fast is the course's code: beside torch.nn, other libraries, and bare matrix products of the same size."""
