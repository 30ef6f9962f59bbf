"""Work against precision of the delay solver and of other solvers."""
