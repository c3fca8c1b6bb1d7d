"""Pictures of modules: the selection of contents, their layout, and one file per output format."""
