"""What authors and instructors run; no lesson imports it."""
