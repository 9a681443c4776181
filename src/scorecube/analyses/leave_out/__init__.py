"""Leaving teams and topics out of a collection."""
