"""Backchat with real engines: what `.ci/engines` runs."""
