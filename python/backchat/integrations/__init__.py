"""Backchat as a replacement for the parsers of other projects."""
