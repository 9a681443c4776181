"""What files are that are no tables or logs in text, and how each becomes readable."""

from __future__ import annotations

import io
import re
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scorecube.errors import BadInput
from scorecube.files import PathLike

PARQUET = "parquet"
NETCDF = "netcdf"
ZARR = "zarr"
EVAL = "eval"
"""Kinds of binary files, and of folders, that are read."""


class Kind(NamedTuple):
    """A kind of file: what it is, and what to do, where FILE stands for its name."""

    what: str
    way: str


FRAME = "write its table as CSV, such as with pandas: pandas.read_{0}(...).to_csv(...)"
WORKBOOK = Kind("a spreadsheet", "save its sheet as CSV, UTF-8")
R_DATA = Kind("data of R", 'write the table as CSV in R: write.csv(table, "FILE.csv")')
EVAL_LOG = Kind("a packed log of Inspect", "make JSON of it: inspect log dump FILE > FILE.json")
LATEX = Kind(
    "a table of LaTeX",
    r"make CSV of it: sed -n '/&/{s/ *\\\\.*//; s/ *& */,/g; p}' FILE > FILE.csv",
)
MARKDOWN = Kind(
    "a table of Markdown", "make CSV of it: sed '2d; s/ *| */,/g; s/^,//; s/,$//' FILE > FILE.csv"
)
# A line of YAML: a name, and perhaps a value.
NAMED = rb"[\w. '\"-]+:( .*|\r)?\n"
WITH_PYTHON = "python -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'"
LINK_RAW = "download the file itself, such as by its link Raw"
MAGIC: Mapping[bytes, Kind] = {
    rb"PAR1[^\t\n\r -~]": Kind("Parquet", "name it FILE.parquet"),
    rb"CDF[\1\2\5]": Kind("netCDF", "name it FILE.nc"),
    rb"\x89HDF": Kind("HDF5", "if it is netCDF, name it FILE.nc; else write its table as CSV"),
    rb"RD[ABX][23]\n|X\n\0\0": R_DATA,
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": WORKBOOK,
    rb"version https://git-lfs": Kind("a pointer of Git LFS", "fetch its content: git lfs pull"),
    rb"(\.\./)*(\.git)?/annex/objects/": Kind(
        "a pointer of git-annex", "fetch its content: git annex get FILE"
    ),
    rb"BZh\d1AY": Kind("packed with bzip2", "unpack it: bunzip2 FILE"),
    rb"\xfd7zXZ\0": Kind("packed with xz", "unpack it: unxz FILE"),
    rb"\x28\xb5\x2f\xfd": Kind("packed with zstd", "unpack it: unzstd FILE"),
    rb"\x04\x22\x4d\x18": Kind("packed with lz4, as runs of ranx are", "unpack it: unlz4 FILE"),
    rb"\x93NUMPY": Kind(
        "an array of NumPy",
        "it has no labels: in Python, cube_from_scores(numpy.load(...), runs=..., topics=...)",
    ),
    rb"ARROW1\0|FEA1\0": Kind("a table of Arrow", FRAME.format("feather")),
    rb"\$FL[23]": Kind("a table of SPSS", FRAME.format("spss")),
    rb"<stata_dta>": Kind("a table of Stata", FRAME.format("stata")),
    rb"\x80[\2-\5][^\t\n\r -~]": Kind(
        "a pickle of Python", "it can run code, so it is not opened; write its table as CSV"
    ),
    rb"\s*<(!doctype )?html": Kind("a web page", LINK_RAW),
    rb"\s*<\?xml": Kind("XML", FRAME.format("xml")),
    rb"%PDF-\d": Kind("a PDF", "export the numbers where it was made; or pdftotext -layout FILE"),
    rb"(%[^\n]*\n|\s)*@relation\s": Kind(
        "a table of Weka", "write it as CSV: pandas.DataFrame(scipy.io.arff.loadarff(...)[0])"
    ),
    rb"(%[^\n]*\n|=+\n|\s)*\\(documentclass|usepackage|begin|toprule|hline)\b": LATEX,
    rb"[^\n&]+&[^\n]*\\\\\s*\n": LATEX,
    rb"\s*\|.*\|\s*\n\|?[ :|-]*-[ :|-]*\s*\n": MARKDOWN,
    rb"(---\s*\n)?(- )?%b((?>[ \t].*\n|(- )?%b|(- .*|#.*|\r)?\n))++.*\Z" % (NAMED, NAMED): Kind(
        "YAML", f"make JSON of it: {WITH_PYTHON} < FILE > FILE.json"
    ),
    rb"(?s).{257}ustar": Kind("a tar archive", "unpack it: tar -xf FILE"),
    rb"([^\0]\0){8}|(\0[^\0]){8}": Kind(
        "text in UTF-16 without a mark",
        "convert it: iconv -f UTF-16LE -t UTF-8 FILE > FILE.txt (or UTF-16BE)",
    ),
    rb"(?s)[^\0]*\0": Kind("zero bytes and no text", "save it as text in UTF-8, such as CSV"),
}
"""Pattern of the first bytes of a file -> what it is."""
MEMBERS = {
    "header.json": EVAL_LOG,
    "_journal/start.json": EVAL_LOG,
    "xl/workbook.xml": WORKBOOK,
    "word/document.xml": Kind("a document of Word", "copy its table into a CSV file"),
    "content.xml": WORKBOOK,
}
"""Member of a zip archive -> what it is."""
START = 1000
"""Bytes by which a kind is told."""


def kind_of_content(content: bytes) -> Kind | None:
    """Return what a file is that is no text; None for text."""
    start = content[:START]
    if start.startswith(b"PK\3\4"):
        return _kind_of_archive(content)
    for magic, kind in MAGIC.items():
        if re.match(magic, start, re.IGNORECASE):
            return kind
    return None


def _kind_of_archive(content: bytes) -> Kind:
    """Return what a zip archive is, by its members."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return Kind("a zip archive that is cut off or damaged", "fetch it again")
    known = (MEMBERS[name] for name in MEMBERS if name in members)
    return next(known, Kind("a zip archive", "unpack it: unzip FILE"))


def way_of(kind: Kind, path: PathLike) -> str:
    """Return what to do with a file of a kind."""
    return kind.way.replace("FILE", shlex.quote(Path(path).name))


def refuse_other_kinds(content: bytes, path: PathLike) -> None:
    """Refuse content that is no text, with what it is and what to do (BadInput)."""
    if (kind := kind_of_content(content)) is not None:
        raise BadInput(f"{kind.what}, no table of cells; {way_of(kind, path)}", path)


def readable_kind(path: PathLike) -> str:
    """Return the kind of a file, or folder, that is read although it is no text; '' for text."""
    name = Path(path)
    if name.is_dir():
        return ZARR if is_zarr(name) else ""
    if name.suffix == ".parquet":
        return PARQUET
    try:
        with name.open("rb") as file:
            start = file.read(8)
    except (OSError, ValueError):
        return ""
    if start.startswith(b"PAR1"):
        return PARQUET
    if name.suffix in (".nc", ".nc4", ".cdf", ".netcdf", ".h5"):
        return NETCDF if start.startswith((b"CDF", b"\x89HDF")) else ""
    return EVAL if name.suffix == ".eval" and start.startswith(b"PK\3\4") else ""


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a group of zarr."""
    return any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zmetadata"))
