"""The golden corpus: what the code shows of about 120 results, kept to prove that a change shows the same.

``python -m tests.golden [WORD ...]`` compares what is shown now with what is kept, ``--renew`` keeps what is shown now.
"""
