"""Custom calls of libraries, in a file for each library."""
