"""What results of `Swap` hold."""

from scorecube.analyses.variables import read_variables

VARIABLES = read_variables("""
    [metric gain size bin]
    count | count/i | comparisons | pairs and trials whose first difference lies in the bin
    swaps | count/i | comparisons | comparisons on which the second sample disagrees, by the rule
    swap_rate | share | 1 | swaps / count; missing where the bin is empty
    swap_rate_low | low:swap_rate | 1 | lower limit (95 %) over trials with these topics and runs
    swap_rate_high | high:swap_rate | 1 | upper limit (95 %) over trials with these topics and runs
    swap_rate_fitted | estimate | 1 | weighted isotonic regression of the swap rates
    tie_share | share | 1 .2f | share of comparisons with an exact tie on at least one sample
    [metric gain size confidence]
    required_difference | estimate | score .2f | lower edge of the bin that the rule chooses
    required_low | low:required_difference | score .2f | lower limit (95 %) with other topics
    required_high | high:required_difference | score .2f | upper limit (95 %) with other topics
    required_suffix | estimate | score .2f | lowest edge from which on no swap rate is too high
    required_difference_smooth | estimate | score .3f | where fitted rates reach the accepted
    open_bin | flag/b | 1 | only the open last bin has an accepted rate: more may be required
    relative_difference = required difference / largest mean | share | 1 .0% | of the largest mean
    share = share of comparisons | share | 1 .1% | share of comparisons with the required difference
    share_low | low:share | 1 .0% | lower limit (95 %) of the share with other topics
    share_high | high:share | 1 .0% | upper limit (95 %) of the share with other topics
    share_behind | share | 1 .0% | largest share of all metrics and gain settings, minus this one
    share_behind_low | low:share_behind | 1 .0% | lower limit, 95 % for all pairs together
    share_behind_high | high:share_behind | 1 .0% | upper limit, 95 % for all pairs together
    [metric gain size]
    both_zero | count/i | comparisons | pairs and trials with no difference in either sample
    max_performance = largest mean | estimate | score | over runs, trials and both samples
    max_difference = largest difference | estimate | score | of two mean scores on one sample
    support = highest bin begins at | estimate | score .2f | lower edge of the highest bin in use
    tau | estimate | 1 | mean of Kendall's tau-a between the rankings by both samples
    tau_low | low:tau | 1 | lower limit (95 %) of the mean tau of these runs with other topics
    tau_high | high:tau | 1 | upper limit (95 %) of the mean tau of these runs with other topics
    [metric gain size trial]
    tau_of_trial | estimate | 1 | Kendall's tau-a between the rankings by both samples of a trial
    [size]
    unique = distinct topics in a sample | estimate | topics .1f | mean number of distinct topics
    common = topics in both samples | estimate | topics .1f | mean number in both samples
""")
