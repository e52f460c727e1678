"""Backchat in the place of the parsers that other projects carry."""
