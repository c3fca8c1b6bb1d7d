"""Modules from the frameworks that make them. Each framework is imported where its function is called, and only there."""
