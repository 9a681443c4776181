"""Analysis that leaves teams and topics out of a collection."""
