"""Agreement of rankings of the same runs: by metrics, gain settings, judgement sets."""
