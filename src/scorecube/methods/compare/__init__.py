"""The method: two systems compared, and a gate that passes or fails."""
