"""Odd run files, judgements, tables of teams, and files of scores."""

from __future__ import annotations

import gzip

from tests.odd_inputs.reading import QRELS, RUN, Odd, ranked, wide

MATRIX = b"topic,a,b\n1,0.5,0.25\n2,1,0\n"
ODD = {
    # Runs
    'run tag in Latin-1': Odd('runs', RUN.replace(b" a\n", b" Universit\xe9\n"), "error FILE:1"),
    'run topic in Latin-1': Odd('runs', RUN + b"\xe9 Q0 d1 1 1 a\n", "error FILE:4"),
    'run document in Latin-1': Odd('runs', RUN + b"2 Q0 \xe9 1 1 a\n", 'a: 1=1 2=0.25'),
    'run tag with an escape character': Odd('runs', RUN.replace(b" a\n", b" \x1b[31mred\n"), "error FILE:1"),
    'run with a late zero byte in the tag': Odd('runs', b"# " + b"x" * 2000 + b"\n" + RUN.replace(b" a\n", b" a\0b\n"), "error FILE:2"),
    'run tag with blanks': Odd('runs', RUN.replace(b" a\n", b" team A 1\n"), 'error FILE:1'),
    'judgements as a run': Odd('runs', QRELS, 'error FILE:1'),
    'run between commas': Odd('runs', RUN.replace(b" ", b","), 'error FILE:1'),
    'run with a huge line': Odd('runs', RUN + b"2 Q0 " + b"d" * 5_000_000 + b" 2 0 a\n", 'a: 1=1 2=0.5'),
    'run with form feeds': Odd('runs', RUN.replace(b" Q0", b"\fQ0"), 'a: 1=1 2=0.5'),
    'run score of a million digits': Odd('runs', RUN + b"2 Q0 d9 2 0." + b"1" * 1_000_000 + b" a\n", 'a: 1=1 2=0.5'),
    'run score of 5,000 digits': Odd('runs', RUN + b"2 Q0 d9 2 " + b"9" * 5000 + b" a\n", 'a: 1=1 2=0.25'),
    'run score inf': Odd('runs', RUN + b"2 Q0 d9 2 inf a\n", 'a: 1=1 2=0.25'),
    'run score in Arabic digits': Odd('runs', RUN + "2 Q0 d9 2 \u0661 a\n".encode(), "error FILE:4"),
    'run rank of 5,000 digits by rank': Odd('runs', RUN + b"2 Q0 d2 " + b"9" * 5000 + b" 0 a\n", "error FILE:4", options={'order': 'rank'}),
    'run rank that is no number by rank': Odd('runs', RUN + b"2 Q0 d2 first 0 a\n", "error FILE:4", options={'order': 'rank'}),
    'run of one topic': Odd('runs', RUN.partition(b"2 Q0")[0], 'a: 1=1 2=0'),
    'run of topics with zeros': Odd('runs', RUN.replace(b"1 Q0", b"01 Q0").replace(b"2 Q0", b"02 Q0"), "error FOLDER/plain.qrels"),
    'run with one topic with zeros': Odd('runs', RUN.replace(b"2 Q0", b"02 Q0"), "a: 1=1 2=0"),
    'run tag that is a path': Odd('runs', RUN.replace(b" a\n", b" ../../etc/passwd\n"), '../../etc/passwd: 1=1 2=0.5'),
    'run tag that is a formula': Odd('runs', RUN.replace(b" a\n", b" =1+1\n"), '=1+1: 1=1 2=0.5'),
    'gzip run in two members': Odd('runs', gzip.compress(RUN[:30]) + gzip.compress(RUN[30:]), 'a: 1=1 2=0.5'),
    'gzip run with rubbish behind it': Odd('runs', gzip.compress(RUN) + b"rubbish", "error FILE"),
    'run with scores of many digits': Odd('runs', ranked(lambda rank: f"100.{999999 - rank:06d}9"), "a: 1=0.333333 2=0.583333"),
    'run with scores above 2**24': Odd('runs', ranked(lambda rank: 2**27 - rank), "a: 1=0.25 2=0.416667"),
    # Judgements
    'run as judgements': Odd('qrels', RUN, 'error FILE:1'),
    'judgements with further criteria': Odd('qrels', QRELS.replace(b"\n", b" 2 1\n"), "error FILE:1"),
    'judgements with a level of 5,000 digits': Odd('qrels', QRELS + b"2 0 d3 " + b"1" * 5000 + b"\n", "error FILE:5"),
    'judgements without a relevant document': Odd('qrels', QRELS.replace(b" 1\n", b" 0\n"), 'error'),
    'judgements of a topic without a relevant document': Odd('qrels', QRELS + b"3 0 d1 0\n", 'a: 1=1 2=0.5'),
    'judgements of another topic': Odd('qrels', QRELS + b"3 0 d1 1\n", 'a: 1=1 2=0.5 3=0'),
    'judgements of topics with zeros': Odd('qrels', QRELS.replace(b"1 0", b"01 0").replace(b"2 0", b"02 0"), "error FILE"),
    'classes of 5,000 digits': Odd('qrels', QRELS.replace(b" 0 d1", b" " + b"7" * 5000 + b" d1"), 'a: 1=1 2=0.5', options={'qrels_format': 'trec-classes'}),
    'judgements by topic with an empty line': Odd('qrels', b"d1 L1\n\n# c\nd2 L0\n", 'a: 1=1', name='1.rel'),
    # Tables
    'teams with capitals': Odd('teams', b"Run,Team\na,A\n", 'a (A): 1=1 2=0.5'),
    'teams without the run': Odd('teams', b"run,team\nb,B\n", 'a: 1=1 2=0.5'),
    'teams without header': Odd('teams', b"a,A\n", 'error FILE:1'),
    'teams with an escape character': Odd('teams', b"run,team\na,\x1b[31mA\n", "error FILE:2"),
    # Scores
    'matrix without header with topics': Odd('scores', b"401,0.5,0.25\n402,1,0\n", 'run1: 401=0.5 402=1; run2: 401=0.25 402=0'),
    'matrix without header of whole numbers': Odd('scores', b"1,0\n0,1\n", 'error FILE:1'),
    'matrix without header of whole numbers, said so': Odd('scores', b"1 0\n0 1\n", 'run1: 1=1 2=0; run2: 1=0 2=1', options={'layout': 'numbers'}),
    'frames of runs that pandas put together': Odd('scores', b",,map\na,1,0.5\na,2,1\n", 'error FILE:1'),
    'matrix of means': Odd('scores', b"name,map,ndcg_cut_10\na,0.5,1\nb,0.25,0\n", "error FILE:1"),
    'matrix with a score of 1e308': Odd('scores', MATRIX.replace(b"0.25", b"1e308"), "error FILE:2"),
    'matrix at the edge of the range': Odd('scores', MATRIX.replace(b"0.25", b"-1e12"), 'm: a: 1=0.5 2=1; b: 1=-1e+12 2=0', name="m.csv"),
    'matrix of denormals': Odd('scores', b"topic,a\n1,5e-324\n2,0\n", 'error'),
    'matrix with a run that has an escape character': Odd('scores', MATRIX.replace(b",b", b",\x1b[2J"), "error"),
    'matrix with marks of messages in its header': Odd('scores', b"topic,\x02a\x1f1\x1f2\x03,\x02\n1,x,y\n", "error FILE:1"),
    'matrix with a score of a million digits': Odd('scores', MATRIX.replace(b"0.25", b"0." + b"3" * 100_000), 'a: 1=0.5 2=1; b: 1=0.333333 2=0'),
    'matrix with a late zero byte': Odd('scores', MATRIX + b"\n" * 2000 + b"3,0\x00.5,1\n", "error FILE:2004"),
    'matrix of 10,000 runs with equal scores': Odd('scores', lambda: wide(10_000, 3), 'r0: 0=0.5 1=0.5 2=0.5; r1: 0=0.5 1=0.5 2=0.5; r10: 0=0.5 1=0.5 2=0.5; r100: 0=0.5 1=0.5 2=0.5; r1000: 0=0.5 1=0.5 2=0.5; r1001: 0=0.5 1=0.5 2=0.5; r1002: 0=0.5 1=0.5 2=0.5; r1003: 0=0.5 1=0.5 2=0.5; r'),
    'means and deviations of trec_eval': Odd('scores', b"301 map 0.2500 0.1000\n301 P_5 0.4000 0.2000\n", 'error FILE'),
    'deep JSON as scores': Odd('scores', b"[" * 100_000, "error FILE:1"),
    'an integer of 5,000 digits in JSON': Odd('scores', b'{"query": 1, "run": "a", "AP": ' + b"1" * 5000 + b"}\n", 'error FILE:1'),
    'long table with a cut-off of 5,000 digits': Odd('scores', b"run,topic,metric,score\na,1,P_" + b"9" * 5000 + b",0.5\n", 'P_999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999'),
    'gdeval with an open quote in its header': Odd('scores', b'runid,topic",ndcg@20\na,1,0.5\n', 'error FILE:1'),
    'gdeval of means only': Odd('scores', b"runid,topic,ndcg@20\na,amean,0.5\n", 'error FILE'),
    'a name with path parts': Odd('scores', b"topic,../../x\n1,0.5\n", '../../x: 1=0.5'),
    'binary scores': Odd('scores', bytes(range(1, 256)) * 20, "error FILE:3"),
}  # fmt: skip
