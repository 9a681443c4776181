"""What results of `Stability` hold."""

from scorecube.analyses.variables import read_variables

VARIABLES = read_variables("""
    [metric gain size fuzziness pair]
    first_better | count/i | trials | topic samples on which the pair's first run is better
    second_better | count/i | trials | topic samples on which the pair's second run is better
    equal | count/i | trials | topic samples on which both are equal within the fuzziness
    [metric gain size fuzziness]
    error_rate | share | 1 | share of comparisons that contradict the majority of their pair
    ties | share | 1 | share of comparisons that are equal within the fuzziness
""")
