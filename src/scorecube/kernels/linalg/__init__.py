"""Matrix products and selection."""
