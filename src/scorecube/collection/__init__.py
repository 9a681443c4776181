"""Labelled data of one collection: judgements, rankings, pools, scores."""
