"""Programs around readers of response templates, from rows `{"id", "template"}` to rows `{"id", "refused"}`."""
