"""Pictures of modules: selection of the contents, layout, and one file per output format."""
