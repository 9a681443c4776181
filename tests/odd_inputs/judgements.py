"""Odd judgements."""

from __future__ import annotations

from tests.odd_inputs.reading import QRELS, RUN, Odd, bomb, judged_topics

JUDGEMENTS = {
    'run as judgements': Odd('qrels', RUN, 'error FILE:1'),
    'run with a number as tag as judgements': Odd('qrels', RUN.replace(b" a\n", b" 7\n"), 'error FILE:1'),
    'judgements with further criteria': Odd('qrels', QRELS.replace(b"\n", b" 2 1\n"), "error FILE:1"),
    'judgements in three columns': Odd('qrels', b"1 d1 L1\n1 d2 L0\n2 d2 L1\n2 d1 L1\n", 'a: 1=1 2=0.5'),
    'judgements of a topic in Latin-1': Odd('qrels', QRELS + b"\xe9 0 d1 1\n", "error FILE:5"),
    'judgements with a level of 5,000 digits': Odd('qrels', QRELS + b"2 0 d3 " + b"1" * 5000 + b"\n", "error FILE:5"),
    'judgements with level -1': Odd('qrels', QRELS + b"2 0 d3 -1\n", 'a: 1=1 2=0.5'),
    'judgements without a relevant document': Odd('qrels', QRELS.replace(b" 1\n", b" 0\n"), 'error'),
    'judgements of a topic without a relevant document': Odd('qrels', QRELS + b"3 0 d1 0\n", 'a: 1=1 2=0.5'),
    'judgements of another topic': Odd('qrels', QRELS + b"3 0 d1 1\n", 'a: 1=1 2=0.5 3=0'),
    'judgements of topics with zeros': Odd('qrels', QRELS.replace(b"1 0", b"01 0").replace(b"2 0", b"02 0"), "error FILE"),
    'judgements of other topics': Odd('qrels', b"x 0 d1 1\n", 'error FILE'),
    'judgements of 50,000 topics in any order': Odd('qrels', lambda: judged_topics(50_000) + b"".join(b"t%d 0 d2 0\n" % k for k in range(50_000)), 'a: 1=1 t0=0 t1=0 t10=0 t100=0 t1000=0 t10000=0 t10001=0 t10002=0 t10003=0 t10004=0 t10005=0 t10006=0 t10007=0 t10008=0 t10009=0 t1001=0 t10010=0 t10011=0 t10012=0 t10013=0 t10014=0 t10015=0 t10016=0 t'),
    'gzip bomb as judgements': Odd('qrels', bomb, 'error FILE'),
    'judgements with a huge line': Odd('qrels', QRELS + b"2 0 " + b"d" * 5_000_000 + b" 0\n", 'a: 1=1 2=0.5'),
    'classes of 5,000 digits': Odd('qrels', QRELS.replace(b" 0 d1", b" " + b"7" * 5000 + b" d1"), 'a: 1=1 2=0.5', options={'dialect': 'trec-classes'}),
    'judgements by topic with an empty line': Odd('qrels', b"d1 L1\n\n# c\nd2 L0\n", 'a: 1=1', name='1.rel'),
    'judgements by topic of nothing': Odd('qrels', b"# c\n", 'error FILE', name='1.rel'),
    'judgements with levels 0, 50 and 100': Odd('qrels', QRELS.replace(b"d1 1", b"d1 100").replace(b"d2 1", b"d2 50"), 'a: 1=1 2=0.5'),
    'judgements with levels 0 and 4': Odd('qrels', QRELS.replace(b" 1\n", b" 4\n"), 'a: 1=1 2=0.5'),
}  # fmt: skip
