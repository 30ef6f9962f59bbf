"""La, Walrand and Anantharam, "Issues in TCP Vegas", 1998."""
