"""Odd tables of teams."""

from __future__ import annotations

from tests.odd_inputs.reading import Odd, bomb

TEAMS = b"run,team\na,A\n"
TABLES = {
    'teams with capitals': Odd('teams', b"Run,Team\na,A\n", 'a (A): 1=1 2=0.5'),
    'teams with semicolons': Odd('teams', b"run;team\na;A\n", 'a (A): 1=1 2=0.5'),
    'teams with tabs and a byte order mark': Odd('teams', b"\xef\xbb\xbfRUN\tTEAM\na\tA\n", 'a (A): 1=1 2=0.5'),
    'teams without the run': Odd('teams', b"run,team\nb,B\n", 'a: 1=1 2=0.5'),
    'teams of other runs too': Odd('teams', TEAMS + b"b,B\nc,C\n", 'a (A): 1=1 2=0.5'),
    'teams without header': Odd('teams', b"a,A\n", 'error FILE:1'),
    'teams with two headers of run': Odd('teams', b"run,run,team\na,b,A\n", 'error FILE:1'),
    'teams with a comma in a name': Odd('teams', b"run,team\na,Univ, of X\n", 'error FILE:2'),
    'teams with a quote that does not end': Odd('teams', b"run,team\na,\"A\n", 'error FILE:2'),
    'teams in Latin-1': Odd('teams', b"run,team\na,Universit\xe9\n", "error FILE:2"),
    'teams with an escape character': Odd('teams', b"run,team\na,\x1b[31mA\n", "error FILE:2"),
    'gzip bomb as teams': Odd('teams', bomb, 'error FILE'),
    'two teams of a run': Odd('teams', TEAMS + b"a,B\n", "error FILE:3"),
    'empty teams': Odd('teams', b"\n\n", 'error FILE'),
    'teams with empty cells only': Odd('teams', b"\"\"\n\"\"\n", 'error FILE'),
}  # fmt: skip
