"""Development tasks. Nothing else of the package uses them."""
