"""What is shown of each analysis."""
