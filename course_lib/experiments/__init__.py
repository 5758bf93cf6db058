"""Experiments whose code the lessons show, and the results of those that take too long for a lesson."""
