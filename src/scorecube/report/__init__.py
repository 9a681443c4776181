"""Tables, figures and the report of results."""
