"""Compares Backchat with the newest releases of what it reproduces, reads for and runs in. README.md is its page."""
