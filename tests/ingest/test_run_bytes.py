"""One pass over the bytes of a run file gives what the plain reader gives, or leaves the file to it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorecube.collection.judgements import Qrels
from scorecube.collection.rankings import JudgedRun, Order, judge
from scorecube.errors import BadInput
from scorecube.ingest.input_files import read_bytes
from scorecube.ingest.qrels import read_judgements
from scorecube.ingest.run_bytes import judged_content
from scorecube.ingest.runs import read_run
from scorecube.kernels import run_lines

DATA = Path(__file__).parents[3] / "shared" / "data"
COLLECTIONS = {
    "clef-ehealth-2015": "qrels.txt",
    "trec-covid-r1": "qrels.txt",
    "trec-covid-r5": "qrels.txt",
    "trec8-adhoc": "qrels.txt.gz",
}
SCORES = ("1", "0.5", ".5", "5.", "-0", "+3.25", "2E3", "1.00000000001", "1.0000000596046448", "123456789012345678901234", "0.1234567890123456789", "16777217", "7e-46", "1e-270", "3.4028236e38")  # fmt: skip
ODD_SCORES = ("1e-400", "inf", "nan", "1_0", "1e", "e5", "", "٣", "1e999", "--1", "0x10")


def plain(content: bytes, path: Path, qrels: Qrels, order: str, depth: int | None) -> Any:
    """Return what the plain reader makes of a file: a judged run, or its error."""
    try:
        run = read_run(path, content, with_ranks=order == Order.RANK)
        return judge(run, qrels, order=order, depth=depth)
    except BadInput as error:
        return str(error)


def are_equal(one: JudgedRun, other: JudgedRun) -> bool:
    same = (one.name, one.path, one.unjudged) == (other.name, other.path, other.unjudged)
    arrays = ("levels", "lengths", "documents")
    return same and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)


def a_run(chance: random.Random, scores: tuple[str, ...], odd: float = 0.0) -> bytes:
    """Return a run of two topics, whose documents and scores are often equal, or alike."""
    lines = []
    for topic in chance.sample(["1", "01", "10", "thème"], 2):
        documents = {f"d{chance.randrange(40)}{'x' * chance.randrange(3)}" for _ in range(25)}
        for rank, document in enumerate(chance.sample(sorted(documents), len(documents))):
            score = chance.choice(ODD_SCORES if chance.random() < odd else scores)
            lines.append(f"{topic} Q0 {document} {rank} {score} tag")
    text = "\n".join(lines) + "\n" * chance.randrange(3)
    return text.encode()


@pytest.fixture(scope="module")
def qrels(tmp_path_factory: pytest.TempPathFactory) -> Qrels:
    path = tmp_path_factory.mktemp("judged") / "qrels"
    topics = ("01", "1", "10", "thème", "9")
    judged = [f"{t} 0 d{k} {k % 4 - 1}" for t in topics for k in range(0, 40, 1 + len(t))]
    path.write_text("\n".join(judged), encoding="utf-8")
    return read_judgements(path)


@pytest.mark.parametrize("order", ["score", "score-docno-asc", "score-stable", "file"])
@pytest.mark.parametrize("depth", [None, 7])
def test_ordinary_files_are_read_in_one_pass(qrels: Qrels, order: str, depth: int | None) -> None:
    path, chance = Path("a.run"), random.Random(order)
    for number in range(60):
        content = a_run(chance, SCORES if number % 2 else ("1", "2", "3"))
        found = judged_content(content, path, qrels, run_name="tag", order=order, depth=depth)
        assert found is not None
        assert are_equal(found, plain(content, path, qrels, order, depth))


def test_damaged_files_are_read_alike_or_left(qrels: Qrels) -> None:
    path, chance, left = Path("a.run"), random.Random(1), 0
    for number in range(400):
        content = bytearray(a_run(chance, SCORES, odd=0.02 * (number % 2)))
        for _ in range(number % 4):
            place = chance.randrange(len(content))
            content[place] = chance.choice(b" \n\t\x00\xff#<19.ae-")
        if number % 7 == 0:  # a line twice, a topic in two parts
            content += content[: content.find(b"\n") + 1]
        found = judged_content(
            bytes(content), path, qrels, run_name="tag", order="score", depth=None
        )
        expected = plain(bytes(content), path, qrels, "score", None)
        left += found is None
        assert found is None or are_equal(found, expected), bytes(content)
    assert 50 < left < 350


def test_ids_with_equal_hashes_are_compared(qrels: Qrels) -> None:
    # Both judged documents and that of the line have one hash.
    text = np.frombuffer(b"abab", np.uint8)
    judgements = np.zeros(2, run_lines.JUDGEMENT)
    judgements["document"], judgements["document_length"] = [0, 1], 1
    judgements["number"], judgements["hash"] = [10, 11], 5
    line = np.zeros(1, run_lines.LINE)
    line["document"], line["document_length"], line["hash"] = 3, 1, 5
    table = np.full(8, -1, np.int32)
    first = int(run_lines._place(np.uint64(5), 0, np.uint64(7)))
    table[first], table[(first + 1) % 8] = 0, 1
    assert run_lines._number_of(text, line[0], 0, text, judgements, table) == 11
    assert run_lines._number_of(text, line[0], 1, text, judgements, table) == -1


@pytest.mark.data
@pytest.mark.parametrize("name", COLLECTIONS)
def test_real_files_are_read_in_one_pass(name: str) -> None:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip("no collections beside the repository")
    qrels, n_read = read_judgements(folder / COLLECTIONS[name]), 0
    for path in sorted((folder / "runs").iterdir())[:40]:
        content = read_bytes(path)
        found = judged_content(content, path, qrels, run_name="tag", order="score", depth=None)
        if found is not None:
            n_read += 1
            assert are_equal(found, plain(content, path, qrels, "score", None))
    assert n_read >= 10
