"""Files that are no text are called what they are, with the command that makes them readable, plain and in gzip."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.input_files import read_text
from scorecube.ingest.kinds import kind_of_content

TABLE = b"topic,a,b\n1,0.5,0.25\n2,0,1\n"


def archive(*members: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for member in members:
            file.writestr(member, TABLE)
    return stream.getvalue()


def tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        file.addfile(tarfile.TarInfo("scores.csv"))
    return stream.getvalue()


def array() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    return stream.getvalue()


KINDS = [
    # Content, words of what it is, words of what to do.
    (archive("header.json", "summaries.json", "samples/1_epoch_1.json"), "packed log of Inspect", "inspect log dump x.bin > x.bin.json"),
    (archive("_journal/start.json"), "packed log of Inspect", "inspect log dump"),
    (archive("[Content_Types].xml", "xl/workbook.xml"), "a spreadsheet", "as CSV"),
    (archive("mimetype", "content.xml"), "a spreadsheet", "as CSV"),
    (archive("a.csv"), "a zip archive", "unzip x.bin"),
    (archive("a.csv")[:60], "cut off or damaged", "fetch it again"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a spreadsheet", "as CSV"),
    (b"PAR1\x15\x04" + bytes(40), "Parquet", "x.bin.parquet"),
    (b"CDF\x01" + bytes(40), "netCDF", "x.bin.nc"),
    (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5", "x.bin.nc"),
    (b"RDX3\nX\n" + bytes(40), "data of R", "write.csv"),
    (b"X\n\0\0\0\3" + bytes(40), "data of R", "write.csv"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "Git LFS", "git lfs pull"),
    (b"../.git/annex/objects/a/b", "git-annex", "git annex get x.bin"),
    (bz2.compress(TABLE), "bzip2", "bunzip2 x.bin"),
    (lzma.compress(TABLE), "xz", "unxz x.bin"),
    (b"\x28\xb5\x2f\xfd" + TABLE, "zstd", "unzstd x.bin"),
    (b"\x04\x22\x4d\x18" + TABLE, "lz4", "unlz4 x.bin"),
    (pickle.dumps({"a": 1}), "pickle", "run code"),
    (tar(), "a tar archive", "tar -xf x.bin"),
    (array(), "an array of NumPy", "cube_from_scores"),
    (b"\n<!DOCTYPE html><html>", "a web page", "Raw"),
    (b"%PDF-1.7\n%\xe2\xe3\n1 0 obj", "a PDF", "pdftotext -layout x.bin"),
    (b"<?xml version='1.0'?>\n<testsuites>\n", "XML", "pandas.read_xml"),
    (b"% results\n\n@RELATION iris\n\n@attribute a numeric\n@data\n0.5\n", "a table of Weka", "loadarff"),
    (b"% of 2026\n\\begin{tabular}{lr}\n\\toprule\nrun & AP \\\\\n", "a table of LaTeX", "sed -n"),
    (b"topic & bm25 \\\\\n\\hline\n1 & 0.5 \\\\\n", "a table of LaTeX", "x.bin.csv"),
    (b"| run | AP |\r\n|:----|---:|\r\n| a | 0.5 |\r\n", "a table of Markdown", "sed '2d"),
    (b"---\nruns:\n  - name: a\n    scores: {q1: 0.5}\n", "YAML", "yaml.safe_load(sys.stdin)"),
    (b"- run: a\r\n  topic: q1\r\n  score: 0.5\r\n", "YAML", "< x.bin > x.bin.json"),
    (b"$FL2@(#) SPSS DATA FILE", "SPSS", "pandas.read_spss"),
    (b"ARROW1\0\0" + bytes(40), "Arrow", "pandas.read_feather"),
    (TABLE.decode().encode("utf-16-be"), "UTF-16 without a mark", "iconv"),
    (b"\1\2\0\3" * 30, "zero bytes", "UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("content", "what", "way"), KINDS, ids=[what for _, what, _ in KINDS])
def test_a_kind_is_named_with_a_way(
    tmp_path: Path, content: bytes, what: str, way: str, packed: bool
) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(BadInput) as caught:
        read_text(path)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{path}: ")
    assert what in line
    assert way in line


TABLES = {
    "a.md": "| run | topic | AP |\n|---|---|---|\n| a | q1 | 0.5 |\n| a | q2 | 0.25 |\n",
    "a.tex": "\\begin{tabular}{llr}\n\\toprule\nrun & topic & AP \\\\\n\\midrule\na & q1 & 0.5 \\\\\na & q2 & 0.25\\\\\n\\end{tabular}\n",
    "a.yaml": "- run: a\n  topic: q1\n  AP: 0.5\n- run: a\n  topic: q2\n  AP: 0.25\n",
}


@pytest.mark.process
@pytest.mark.parametrize("name", TABLES)
def test_the_command_makes_a_table_readable(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(TABLES[name])
    with pytest.raises(BadInput) as caught:
        sc.import_scores(path)
    command = str(caught.value).partition(" of it: ")[2].replace("python", sys.executable)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    (made,) = set(tmp_path.iterdir()) - {path}
    scores = sc.import_scores(made, notify=lambda _: None)["score"]
    assert scores.sel(metric="AP", run="a").values.tolist() == [[0.5, 0.25]]


@pytest.mark.parametrize(
    "text",
    [
        b"PAR1 Q0 d1 1 0.5 a\n", b"CDF,a\n1,0.5\n", b"ORC\t1\n", b"BZh1,a\n", b"x\n1\n", b"RDX,a\n", b"MATLAB,R\n1,2\n",
        b"Title: results\nDate: today\nrun,topic,AP\na,1,0.5\n", b"%,a\n1,0.5\n", b"|a|,b\n1,0.5\n", b"q:1 Q0 d: 1 2 a\n", b"\n" * 5000 + b"a,b\n",
        b"- 1 2\n- 3 4\n", b"version,a\n1,0.5\n", "\u20ac,a\n".encode(), b"topic,a\n" + b"\xc3\xa4" * 600, b"7z,a\n", b"PK,a\n",
    ],
)  # fmt: skip
def test_text_is_text(text: bytes) -> None:
    assert kind_of_content(text) is None
