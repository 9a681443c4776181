"""Odd run files."""

from __future__ import annotations

import gzip

from tests.odd_inputs.reading import QRELS, RUN, Odd, bomb, ranked

RUNS = {
    'run in UTF-16 without mark': Odd('runs', RUN.decode().encode("utf-16-le"), 'error FILE'),
    'run tag in Latin-1': Odd('runs', RUN.replace(b" a\n", b" Universit\xe9\n"), "error FILE:1"),
    'run topic in Latin-1': Odd('runs', RUN + b"\xe9 Q0 d1 1 1 a\n", "error FILE:4"),
    'run document in Latin-1': Odd('runs', RUN + b"2 Q0 \xe9 1 1 a\n", 'a: 1=1 2=0.25'),
    'run tag with an escape character': Odd('runs', RUN.replace(b" a\n", b" \x1b[31mred\n"), "error FILE:1"),
    'run with a late zero byte in the tag': Odd('runs', b"# " + b"x" * 2000 + b"\n" + RUN.replace(b" a\n", b" a\0b\n"), "error FILE:2"),
    'run of comments': Odd('runs', b"# nothing\n" * 3, 'error FILE'),
    'run tag with blanks': Odd('runs', RUN.replace(b" a\n", b" team A 1\n"), 'error FILE:1'),
    'judgements as a run': Odd('runs', QRELS, 'error FILE:1'),
    'run between commas': Odd('runs', RUN.replace(b" ", b","), 'error FILE:1'),
    'run with a huge line': Odd('runs', RUN + b"2 Q0 " + b"d" * 5_000_000 + b" 2 0 a\n", 'a: 1=1 2=0.5'),
    'run with a huge tag': Odd('runs', RUN.replace(b" a\n", b" " + b"a" * 100_000 + b"\n"), 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'),
    'run with form feeds': Odd('runs', RUN.replace(b" Q0", b"\fQ0"), 'a: 1=1 2=0.5'),
    'run score of a million digits': Odd('runs', RUN + b"2 Q0 d9 2 0." + b"1" * 1_000_000 + b" a\n", 'a: 1=1 2=0.5'),
    'run score of 5,000 digits': Odd('runs', RUN + b"2 Q0 d9 2 " + b"9" * 5000 + b" a\n", 'a: 1=1 2=0.25'),
    'run score nan': Odd('runs', RUN + b"2 Q0 d9 2 nan a\n", "error FILE:4"),
    'run score inf': Odd('runs', RUN + b"2 Q0 d9 2 inf a\n", 'a: 1=1 2=0.25'),
    'run score in Arabic digits': Odd('runs', RUN + "2 Q0 d9 2 \u0661 a\n".encode(), "error FILE:4"),
    'run rank of 5,000 digits by rank': Odd('runs', RUN + b"2 Q0 d2 " + b"9" * 5000 + b" 0 a\n", "error FILE:4", options={'order': 'rank'}),
    'run rank that is no number by rank': Odd('runs', RUN + b"2 Q0 d2 first 0 a\n", "error FILE:4", options={'order': 'rank'}),
    'run of one topic': Odd('runs', RUN.partition(b"2 Q0")[0], 'a: 1=1 2=0'),
    'run of topics with zeros': Odd('runs', RUN.replace(b"1 Q0", b"01 Q0").replace(b"2 Q0", b"02 Q0"), "error FOLDER/plain.qrels"),
    'run with one topic with zeros': Odd('runs', RUN.replace(b"2 Q0", b"02 Q0"), "a: 1=1 2=0"),
    'run of other topics': Odd('runs', RUN.replace(b"1 Q0", b"x Q0").replace(b"2 Q0", b"y Q0"), 'error FOLDER/plain.qrels'),
    'run with 20,000 other topics': Odd('runs', RUN + b"".join(b"t%d Q0 d 1 1 a\n" % k for k in range(20_000)), 'a: 1=1 2=0.5'),
    'run tag that is a path': Odd('runs', RUN.replace(b" a\n", b" ../../etc/passwd\n"), '../../etc/passwd: 1=1 2=0.5'),
    'run tag that is a formula': Odd('runs', RUN.replace(b" a\n", b" =1+1\n"), '=1+1: 1=1 2=0.5'),
    'run tag of an astral character': Odd('runs', RUN.replace(b" a\n", " \U0001f600\n".encode()), '😀: 1=1 2=0.5'),
    'run with one long topic': Odd('runs', RUN + b"".join(b"1 Q0 x%d 1 1 a\n" % k for k in range(100_000)), 'a: 1=1 2=0.5'),
    'gzip run in two members': Odd('runs', gzip.compress(RUN[:30]) + gzip.compress(RUN[30:]), 'a: 1=1 2=0.5'),
    'gzip run with rubbish behind it': Odd('runs', gzip.compress(RUN) + b"rubbish", "error FILE"),
    'gzip run with a flipped bit': Odd('runs', bytes(b ^ (k == 20) for k, b in enumerate(gzip.compress(RUN))), 'error FILE'),
    'gzip of a gzip run': Odd('runs', gzip.compress(gzip.compress(RUN)), 'error FILE'),
    'gzip bomb as run': Odd('runs', bomb, 'error FILE'),
    'tar archive as run': Odd('runs', b"a.run" + bytes(95) + RUN.ljust(512, b"\0"), 'error FILE'),
    'run with rising scores': Odd('runs', ranked(lambda rank: rank), "a: 1=0.166667 2=0.266667"),
    'run with equal scores': Odd('runs', ranked(lambda _: 1), "a: 1=0.166667 2=0.266667"),
    'run with rising scores by rank': Odd('runs', ranked(lambda rank: rank), 'a: 1=1 2=1', options={'order': 'rank'}),
    'run with equal scores by file': Odd('runs', ranked(lambda _: 1), 'a: 1=1 2=1', options={'order': 'file'}),
    'run with an infinite score': Odd('runs', ranked(lambda rank: -rank if rank > 1 else float("inf")), 'a: 1=1 2=1'),
    'run with negative infinite scores': Odd('runs', ranked(lambda rank: -rank if rank < 5 else -float("inf")), 'a: 1=1 2=1'),
    'run with scores of many digits': Odd('runs', ranked(lambda rank: f"100.{999999 - rank:06d}9"), "a: 1=0.333333 2=0.583333"),
    'run with scores above 2**24': Odd('runs', ranked(lambda rank: 2**27 - rank), "a: 1=0.25 2=0.416667"),
}  # fmt: skip
