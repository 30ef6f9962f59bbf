"""The delay solver against others on the same problems, in one run."""
