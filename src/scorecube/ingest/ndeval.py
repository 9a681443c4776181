"""Output of TREC's ndeval, in the form of gdeval: CSV with the columns runid and topic and one for each measure."""

from __future__ import annotations

from scorecube.ingest.gdeval import TrecTool
from scorecube.ingest.measure_names import NDEVAL as MEASURES
from scorecube.ingest.measure_names import from_ndeval

NDEVAL = TrecTool("ndeval", MEASURES, from_ndeval, "ERR-IA@20, alpha-nDCG@20, NRBP, strec@20")
FORMAT = NDEVAL.format
