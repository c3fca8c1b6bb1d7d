"""Pictures of modules: what is shown, its layout, and a file for each output format."""
