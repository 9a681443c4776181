"""Array types of kernels: the element type and the number of dimensions.

``Float64Array2`` is a float64 array with two dimensions; what the dimensions are is stated in the
docstring of each kernel. numba ignores the annotations, type checkers and readers use them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item", bound=np.generic)
Array1 = np.ndarray[tuple[int], np.dtype[Item]]
Array2 = np.ndarray[tuple[int, int], np.dtype[Item]]
Array3 = np.ndarray[tuple[int, int, int], np.dtype[Item]]

BoolArray2 = Array2[np.bool_]
UInt8Array1 = Array1[np.uint8]
Int8Array2 = Array2[np.int8]
Int8Array3 = Array3[np.int8]
Int32Array1 = Array1[np.int32]
Int32Array2 = Array2[np.int32]
Int32Array3 = Array3[np.int32]
UInt32Array1 = Array1[np.uint32]
Int64Array1 = Array1[np.int64]
UInt64Array1 = Array1[np.uint64]
Float64Array1 = Array1[np.float64]
Float64Array2 = Array2[np.float64]
Float64Array3 = Array3[np.float64]

Ints = Array1[np.signedinteger[Any]]
Vec = Float64Array1
"""Lists of whole numbers of any size, and of numbers, as functions of metrics take them."""
Integer = int | np.integer[Any]
"""One integer; compiled callers pass the integers of NumPy."""
