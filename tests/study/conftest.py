"""The small whole study that the tests of this folder change one thing of."""

from tests.support.sample_study import people, sample, write

__all__ = ["people", "sample", "write"]
