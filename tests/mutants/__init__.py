"""Mutants: the product with one guard disabled. Each must turn a named test red (`make mutants`)."""
