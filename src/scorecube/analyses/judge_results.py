"""What results of `Judges` hold."""

from scorecube.analyses.variables import read_variables

VARIABLES = read_variables("""
    [metric gain judge]
    tau | estimate | 1 | Kendall's tau-a of the runs under the truth and the judge
    tau_ap | estimate | 1 | AP correlation with the truth, mean over orders of ties
    tau_low | low:tau | 1 | lower limit of the tau to be expected from as many other topics
    tau_high | high:tau | 1 | upper limit of the tau to be expected from as many other topics
    n_pairs | count | pairs | pairs of runs of both sets
    agree | count | pairs | pairs significant under both sets, for the same run
    only_truth | count | pairs | pairs significant under the truth only
    only_judge | count | pairs | pairs significant under the judge only
    opposite | count | pairs | pairs significant under both sets, for opposite runs
    neither | count | pairs | pairs significant under neither set
    bias | estimate | score | mean over runs of the bias of a run
    bias_low | low:bias | score | lower limit of the bias over topics
    bias_high | high:bias | score | upper limit of the bias over topics
    [metric gain judge run]
    mean_truth | estimate | score | mean score under the truth
    mean_judge | estimate | score | mean score under the judge
    run_bias | estimate | score | mean under the judge less mean under the truth
    run_bias_low | low:run_bias | score | lower limit of the bias of a run over topics
    run_bias_high | high:run_bias | score | upper limit of the bias of a run over topics
    rank_truth | estimate | rank | rank under the truth; tied runs share the best
    rank_judge | estimate | rank | rank under the judge
    [metric gain judge n_labelled run]
    corrected | estimate | score | mean over infinitely many topics
    corrected_low | low:corrected | score | lower limit of the mean over infinitely many topics
    corrected_high | high:corrected | score | upper limit of the mean over infinitely many topics
    slope | estimate | 1 | lambda, the weight of the judge; 0 for none
    [judge n_labelled]
    labelled_topics | condition/iu | topics | labelled topics
    [judge label_statistic]
    label | estimate | 1 | agreement of the labels of all common documents
    label_low | low:label | 1 | lower limit over topics
    label_high | high:label | 1 | upper limit over topics
    [judge]
    n_documents | count | documents | documents that both judged
    labelled_by_both | count | topics | topics with documents that both judged
    n_shared | count | topics | topics of both sets
    n_truth | count | topics | topics of the truth
    n_judged | count | topics | topics of the judge
    n_common_runs | count | runs | runs of both sets
""")
