"""Odd files of scores."""

from __future__ import annotations

import gzip

from tests.odd_inputs.reading import Odd, bomb, wide

MATRIX = b"topic,a,b\n1,0.5,0.25\n2,1,0\n"
SCORES = {
    'matrix without header with topics': Odd('scores', b"401,0.5,0.25\n402,1,0\n", 'run1: 401=0.5 402=1; run2: 401=0.25 402=0'),
    'matrix without header of whole numbers': Odd('scores', b"1,0\n0,1\n", 'error FILE:1'),
    'matrix without header of whole numbers, said so': Odd('scores', b"1 0\n0 1\n", 'run1: 1=1 2=0; run2: 1=0 2=1', options={'layout': 'numbers'}),
    'matrix of runs down': Odd('scores', b"run,1,2\na,0.5,1\nb,0.25,0\n", 'a: 1=0.5 2=1; b: 1=0.25 2=0'),
    'matrix of means': Odd('scores', b"name,map,ndcg_cut_10\na,0.5,1\nb,0.25,0\n", "error FILE:1"),
    'matrix with a score of 1e308': Odd('scores', MATRIX.replace(b"0.25", b"1e308"), "error FILE:2"),
    'matrix at the edge of the range': Odd('scores', MATRIX.replace(b"0.25", b"-1e12"), 'a: 1=0.5 2=1; b: 1=-1e+12 2=0'),
    'matrix of denormals': Odd('scores', b"topic,a\n1,5e-324\n2,0\n", 'error'),
    'matrix with one denormal': Odd('scores', MATRIX.replace(b"0.25", b"5e-324"), 'a: 1=0.5 2=1; b: 1=4.94066e-324 2=0'),
    'matrix with nan': Odd('scores', MATRIX.replace(b"0.25", b"nan"), 'a: 1=0.5 2=1; b: 1=- 2=0'),
    'matrix of zeros': Odd('scores', b"topic,a,b\n1,0,0\n2,0,0\n", 'a: 1=0 2=0; b: 1=0 2=0'),
    'matrix of a header': Odd('scores', b"topic,a,b\n", 'error FILE'),
    'matrix of an empty name': Odd('scores', b"topic,a,\n1,0,0\n", 'error FILE:2'),
    'matrix of an empty topic': Odd('scores', b"topic,a\n,0.5\n", 'error FILE:2'),
    'matrix with a run that has an escape character': Odd('scores', MATRIX.replace(b",b", b",\x1b[2J"), "error"),
    'matrix with marks of messages in its header': Odd('scores', b"topic,\x02a\x1f1\x1f2\x03,\x02\n1,x,y\n", "error FILE:2"),
    'matrix with a score of a million digits': Odd('scores', MATRIX.replace(b"0.25", b"0." + b"3" * 100_000), 'a: 1=0.5 2=1; b: 1=0.333333 2=0'),
    'matrix with a number over the field limit': Odd('scores', MATRIX.replace(b"0.25", b"0." + b"3" * 200_000), 'error FILE:2'),
    'matrix with a late zero byte': Odd('scores', MATRIX + b"\n" * 2000 + b"3,0\x00.5,1\n", "error FILE:2004"),
    'matrix of 10,000 runs with equal scores': Odd('scores', lambda: wide(10_000, 3), 'r0: 0=0.5 1=0.5 2=0.5; r1: 0=0.5 1=0.5 2=0.5; r10: 0=0.5 1=0.5 2=0.5; r100: 0=0.5 1=0.5 2=0.5; r1000: 0=0.5 1=0.5 2=0.5; r1001: 0=0.5 1=0.5 2=0.5; r1002: 0=0.5 1=0.5 2=0.5; r1003: 0=0.5 1=0.5 2=0.5; r'),
    'matrix of 20,000 topics, one twice': Odd('scores', lambda: wide(3, 20_000) + b"\n7,1,1,1", 'error FILE:20002'),
    'no-break spaces as scores': Odd('scores', "\u00a0\n\u2003".encode(), 'error FILE'),
    'a quoted nothing as scores': Odd('scores', b"\"\"\n", "error FILE"),
    'separators of records as trec_eval': Odd('scores', b"\x1c\x1d\n", 'error FILE', options={'layout': 'trec_eval'}),
    'means and deviations of trec_eval': Odd('scores', b"301 map 0.2500 0.1000\n301 P_5 0.4000 0.2000\n", 'error FILE'),
    'an open quote': Odd('scores', b"topic,\"a\n1,0.5\n", 'error FILE:1'),
    'deep JSON as scores': Odd('scores', b"[" * 100_000, "error FILE:1"),
    'an integer of 5,000 digits in JSON': Odd('scores', b'{"query": 1, "run": "a", "AP": ' + b"1" * 5000 + b"}\n", 'error FILE:1'),
    'long table with a cut-off of 5,000 digits': Odd('scores', b"run,topic,metric,score\na,1,P_" + b"9" * 5000 + b",0.5\n", 'P@999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999'),
    'long table with a column of decimal commas': Odd('scores', b"run;topic;ndcg;ap\na;1;0,5;0.5\n", 'ap: a: 1=0.5'),
    'gdeval of means only': Odd('scores', b"runid,topic,ndcg@20\na,amean,0.5\n", 'error FILE'),
    'trec_eval of means only': Odd('scores', b"map all 0.5\n", 'error FILE', name='a.txt'),
    'gzip bomb as scores': Odd('scores', bomb, 'error FILE'),
    'gzip of a gzip of scores': Odd('scores', gzip.compress(gzip.compress(MATRIX)), 'error FILE'),
    'an image as scores': Odd('scores', b"\x89PNG\r\n\x1a\n" + bytes(range(256)), 'error FILE'),
    'a name with path parts': Odd('scores', b"topic,../../x\n1,0.5\n", '../../x: 1=0.5'),
    'binary scores': Odd('scores', bytes(range(1, 256)) * 20, "error FILE:3"),
    'a million commas': Odd('scores', b"topic," + b"," * 1_000_000, "error FILE:1"),
}  # fmt: skip
