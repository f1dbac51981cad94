"""How a catalog is read: files to nodes with places, bases merged, specs and rules checked."""
