"""Speed and accuracy of the delay solver, compared with other solvers on the same problems."""
