"""Odd tables of teams."""

from __future__ import annotations

from tests.odd_inputs.reading import Odd, bomb

TEAMS = b"run,team\na,A\n"
TABLES = {
    'teams with capitals': Odd('teams', b"Run,Team\na,A\n", 'a (A): 1=1 2=0.5'),
    'teams with tabs and a byte order mark': Odd('teams', b"\xef\xbb\xbfRUN\tTEAM\na\tA\n", 'a (A): 1=1 2=0.5'),
    'teams without the run': Odd('teams', b"run,team\nb,B\n", 'a: 1=1 2=0.5'),
    'teams without header': Odd('teams', b"a,A\n", 'error FILE:1'),
    'teams with a quote that does not end': Odd('teams', b"run,team\na,\"A\n", 'error FILE:2'),
    'teams with an escape character': Odd('teams', b"run,team\na,\x1b[31mA\n", "error FILE:2"),
    'gzip bomb as teams': Odd('teams', bomb, 'error FILE'),
}  # fmt: skip
