"""Running plans: estimate, one graph, clients, the loop that records blocks."""
