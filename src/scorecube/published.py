"""Numbers that papers and tools print, beside what this version computes.

``python -m scorecube.published`` prints them, and ends with status 1 if one is missed. The printed
numbers are those of ``data/published.csv``; nothing else is read, and nothing is fetched.
"""

from __future__ import annotations

import csv
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import scorecube as sc
from scorecube.cli.terminal import discard_stdout
from scorecube.ingest.public import ntcir_clir
from scorecube.methods.design.curves import CONDITIONS
from scorecube.methods.design.power import exact_noncentrality
from scorecube.metrics import gain_values, parse_metric

S = 3
A = 2
B = 1


class Number(NamedTuple):
    """A published number beside ours.

    printed: As in the source.
    tolerance: Largest difference beside the rounding: of drawn samples, of readings off a curve.
    remark: Why they differ, or what is compared.
    """

    item: str
    printed: str
    ours: float
    tolerance: float = 0.0
    remark: str = ""

    @property
    def decimals(self) -> int:
        """Digits that are printed behind the point."""
        return len(self.printed.partition(".")[2])

    @property
    def agrees(self) -> bool:
        """Whether ours rounds to what is printed, halves either way, within the tolerance."""
        rounding = 0.5 * 10.0**-self.decimals + 1e-9
        return abs(self.ours - float(self.printed)) <= rounding + self.tolerance

    def row(self) -> list[str]:
        """Return the row of a table; a difference in bold is larger than it may be."""
        digits = f".{self.decimals + 2}f" if self.decimals else "g"
        difference = format(self.ours - float(self.printed), f"+{digits}")
        mark = difference if self.agrees else f"**{difference}**"
        return [self.item, self.printed, format(self.ours, digits), mark, self.remark]


def topics_in_samples() -> Iterator[float]:
    """Sakai 2005, Table 5: topics that two samples share, and different topics of a sample.

    Means over 1,000 trials.
    """
    for sampling in ("disjoint", "replacement", "independent"):
        for n_topics, size in ((42, 20), (195, 97)):
            scores = np.random.default_rng(n_topics).random((2, n_topics))
            options: dict[str, Any] = {"sampling": sampling, "size": size}
            result = sc.analyse(_cube(AP=scores), sc.Swap(**options), trials=1000, seed=2005)
            yield from (result["common"].item(), result["unique"].item())


def worked_examples() -> Iterator[float]:
    """Sakai 2007, Figures 2 and 3, section 3 and Appendix: worked examples of metrics."""
    yield _score("O", [0, 0, S], 1)
    yield _score("O", [0, 0, S], 3)
    yield _score("NWRR", [0, 0, S], 1)
    yield _score("O", [B, 0, 0], 1, 1, 1)
    yield _score("O", [0, S, 0], 1, 1, 1)
    yield _score("P-measure", [B, S, 0], 1, 1, 1)
    yield _score("P-measure", [B, A, S], 1, 1, 1)
    yield _score("P+", [B, A, S], 1, 1, 1)
    yield _score("P-measure", [0] * 912 + [S], 10, 6, 36)
    first_s_at_424 = [0, B, *[A] * 137, *[B] * 28, *[0] * 256, S]
    yield _score("P-measure", first_s_at_424, 5, 288, 61)
    yield _score("O", first_s_at_424, 5, 288, 61)


def relevant_documents() -> Iterator[float]:
    """Sakai 2007, Table 1: relevant documents per topic, from the counts of Tables 7 to 9.

    In all, and of the levels S, A and B.
    """
    for topics, counts in ntcir_clir().values():
        b, a, s = counts.mean(axis=0)
        yield from (len(topics), s + a + b, s, a, b)


def significant_taus() -> Iterator[float]:
    """Sakai 2007, sections 4.1 and 5.2: tau of 30 runs that is significant at .01.

    And the value beside .3563 that 30 runs without ties can have.
    """
    least = bisect_left(range(218), 0.01, key=lambda swapped: _tau(30, swapped)["p_value"])
    yield np.ceil(100 * (1 - 2 * (least - 1) / 435)) / 100
    yield _tau(30, 140)["tau"]


def widths_and_noncentrality() -> Iterator[float]:
    """Sakai 2017: widths read off curves at 50 topics, and noncentrality beside 4 z^2."""
    for variance in (0.0368, 0.0441, 0.0824, 0.0863):
        yield sc.wcw(variance, 50)["width"].item()
    alphas, betas, systems = np.array(list(CONDITIONS.values())).T
    yield from exact_noncentrality(systems, alphas, betas).tolist()


def limits_of_tau() -> Iterator[float]:
    """Sakai and Shang 2016, Table 2: limits of tau of 44 runs.

    From the printed tau and the rounded half of the width, as in the paper.
    """
    for tau in (0.854, 0.848, 0.926, 0.782, 0.784, 0.841, 0.757, 0.751, 0.803, 0.945):
        row = _tau(44, round(946 * (1 - tau) / 2))
        half = round((row["tau_high"] - row["tau_low"]) / 2, 3)
        yield from (tau - half, tau + half)


def topics_needed() -> Iterator[float]:
    """Sakai and Shang 2016, Table 3: topics for alpha .05, beta .20, minD .15 and 10 systems."""
    items = [line["item"] for line in lines_of("topics_needed")]
    variances = [float(item.rpartition(" ")[2].rstrip(")")) for item in items]
    design = sc.topic_set_size(variances, 0.15, systems=10, mode="sakai")
    yield from design["topics"].values.tolist()


def rank_sets() -> Iterator[float]:
    """Mogstad, Romano, Shaikh and Wilhelm 2024: rank sets of estimates 1 to 3 with error .2."""
    sets = sc.rank_sets(np.linspace(1, 3, 10), np.full(10, 0.2))
    yield from np.stack([sets["rank_low"], sets["rank_high"]], axis=1).ravel().tolist()


def example_of_ntcireval() -> Iterator[float]:
    """NTCIREVAL: its own example, documents of levels 0, 3, unjudged and 2 with gains 3:2:1."""
    levels = np.array([0, 3, -1, 2] + [-1] * 996, np.int8)
    for name in (
        *("O", "P-measure", "P+", "RR", "AP", "Q", "RBP", "ERR", "nDCG(b=2)@1000"),
        *("nDCG@1000", "nERR@1000", "P@1000", "Hit@1000", "AP(judged_only=True)"),
        *("Q(judged_only=True)", "RBP(judged_only=True)", "ERR(judged_only=True)"),
        *("nDCG(judged_only=True,b=2)@1000", "nDCG(judged_only=True)@1000"),
        *("nERR(judged_only=True)@1000", "NCUgu(nu=P)", "NCUgu", "NCUrb(nu=P)", "NCUrb"),
        *("NCUgu(judged_only=True)", "NCUrb(judged_only=True,nu=P)"),
    ):
        scored = parse_metric(name).score(levels, np.array([1, 4, 3, 3]), gain_values("3:2:1", 3))
        yield float(scored)


SECTIONS: tuple[Callable[[], Iterator[float]], ...] = (
    topics_in_samples,
    worked_examples,
    relevant_documents,
    significant_taus,
    widths_and_noncentrality,
    limits_of_tau,
    topics_needed,
    rank_sets,
    example_of_ntcireval,
)


def lines_of(section: str) -> list[dict[str, str]]:
    """Return the printed numbers of a section, in their order."""
    text = files("scorecube").joinpath("data/published.csv").read_text(encoding="utf-8")
    return [line for line in csv.DictReader(text.splitlines()) if line["section"] == section]


def numbers(section: Callable[[], Iterator[float]]) -> list[Number]:
    """Return the printed numbers of a section beside ours."""
    lines = lines_of(section.__name__)
    return [
        Number(line["item"], line["printed"], ours, float(line["tolerance"] or 0), line["remark"])
        for line, ours in zip(lines, section(), strict=True)
    ]


def markdown(title: str, rows: list[Number]) -> str:
    """Return a section: its source, how many numbers agree, and the table."""
    agree = sum(number.agrees for number in rows)
    head = "| | printed | ours | difference | |\n|---|---|---|---|---|"
    table = [f"| {' | '.join(number.row())} |" for number in rows]
    return "\n".join([f"## {title}\n", f"{agree} of {len(rows)} agree.\n", head, *table]) + "\n"


def title_of(section: Callable[[], Iterator[Any]]) -> str:
    """Return the heading of a section: the first line of its docstring."""
    return (section.__doc__ or "").splitlines()[0].rstrip(".")


def _score(name: str, levels: list[int], n_s: int = 0, n_a: int = 0, n_b: int = 0) -> float:
    """Score a list of a topic with so many S-, A- and B-relevant documents, gains 3:2:1."""
    judged = np.array([len(levels), n_b, n_a, n_s])
    scored = parse_metric(name).score(np.array(levels, np.int8), judged, gain_values("3:2:1", 3))
    return float(scored)


def _cube(**scores: np.ndarray[Any, Any]) -> xr.Dataset:
    """Return a cube of scores[run, topic] by metric."""
    n_runs, n_topics = next(iter(scores.values())).shape
    return sc.cube_from_scores(scores, runs=range(n_runs), topics=range(n_topics))


def _tau(n_runs: int, swapped: int) -> dict[str, Any]:
    """Return the row of `correlate` for two rankings that order so many pairs differently."""
    order = list(range(n_runs))
    for place in range(n_runs):
        # A run that is moved up by some places passes as many others.
        up = min(swapped, n_runs - 1 - place)
        order.insert(place, order.pop(place + up))
        swapped -= up
    first = np.outer(range(n_runs), [1, 1])
    second = np.outer(np.argsort(order), [1, 1])
    cube = _cube(AP=first / n_runs, RR=second / n_runs)
    result = sc.analyse(cube, sc.Correlation())
    row = sc.table(result, "metrics").iloc[0]
    return {str(name): value for name, value in row.items()}


def main() -> None:
    """Print all sections."""
    missed = 0
    for section in SECTIONS:
        rows = numbers(section)
        missed += sum(not number.agrees for number in rows)
        try:
            sys.stdout.write(f"{markdown(title_of(section), rows)}\n")
            sys.stdout.flush()
        except BrokenPipeError:  # ... | head
            discard_stdout()
            return
    sys.exit(f"{missed} numbers are missed" if missed else 0)


if __name__ == "__main__":
    main()
