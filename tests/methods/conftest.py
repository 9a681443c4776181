"""Relations are complete before a test of a method names them: they ask its test for its laws."""

import tests.analyses.test_metamorphic  # noqa: F401
