"""The rewrite rules: a file for each topic, a function for each rule."""
