"""Recommendations on networks that nobody has tuned for, and beside other ways to find them."""
