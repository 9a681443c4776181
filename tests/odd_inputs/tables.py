"""Odd tables of teams."""

from __future__ import annotations

from tests.odd_inputs.reading import Odd, bomb

TEAMS = b"run,team\na,A\n"
TABLES = {
    'teams with capitals': Odd('teams', b"Run,Team\na,A\n", 'a (A): 1=1 2=0.5'),
    'teams with semicolons': Odd('teams', b"run;team\na;A\n", 'a (A): 1=1 2=0.5'),
    'teams with tabs and a byte order mark': Odd('teams', b"\xef\xbb\xbfRUN\tTEAM\na\tA\n", 'a (A): 1=1 2=0.5'),
    'teams without the run': Odd('teams', b"run,team\nb,B\n", 'a: 1=1 2=0.5 | FILE: no team for 1 run, each a team of its own: a | FILE: teams of 1 run that are not here: b'),
    'teams with the run in another case': Odd('teams', b"run,team\nA,A\n", "error: FILE: the teams name 1 run differently: 'A' for 'a'; spell runs as in the run files"),
    'teams of other runs too': Odd('teams', TEAMS + b"b,B\nc,C\n", 'a (A): 1=1 2=0.5 | FILE: teams of 2 runs that are not here: b, c'),
    'teams without header': Odd('teams', b"a,A\n", 'error: FILE:1: the header must have the columns run and team; found a,A'),
    'teams with two headers of run': Odd('teams', b"run,run,team\na,b,A\n", 'error: FILE:1: the header must have the columns run and team once each; found run,run,team'),
    'teams with a comma in a name': Odd('teams', b"run,team\na,Univ, of X\n", 'error: FILE:2: 3 cells, the header has 2'),
    'teams with a quote that does not end': Odd('teams', b"run,team\na,\"A\n", 'error: FILE:2: not CSV: unexpected end of data'),
    'teams in Latin-1': Odd('teams', b"run,team\na,Universit\xe9\n", "error: FILE:2: not UTF-8 (it may be Latin-1) after 'a,Université'; save the file as UTF-8"),
    'teams with an escape character': Odd('teams', b"run,team\na,\x1b[31mA\n", "error: FILE:2: the team '\\x1b[31mA' has the control character '\\x1b' in it; remove it"),
    'teams with a field over the limit': Odd('teams', b"run,team\na," + b"A" * 200_000 + b"\n", 'error: FILE:2: not CSV: field larger than field limit (131072)'),
    'gzip bomb as teams': Odd('teams', bomb, 'error: FILE: the gzip file decompresses to more than 100 times its size, which text does not; if it is valid, decompress it first'),
    'two teams of a run': Odd('teams', TEAMS + b"a,B\n", "error: FILE:3: run 'a' has two teams: 'B' here and 'A' before"),
    'empty teams': Odd('teams', b"\n\n", 'error: FILE: the file is empty'),
    'teams with empty cells only': Odd('teams', b"\"\"\n\"\"\n", 'error: FILE: the file has no cell that is not empty'),
}  # fmt: skip
