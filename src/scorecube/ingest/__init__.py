"""Files and objects of other tools -> tidy frames of scores, runs and judgements."""
