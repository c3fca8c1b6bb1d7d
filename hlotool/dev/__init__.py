"""Development tasks. Nothing else in the package uses them."""
