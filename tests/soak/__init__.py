"""The same work for an hour: whether a long-lived process is left as it began."""
