"""One thread of BLAS for sums that must be the same, bit for bit, when they are computed again."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS use one thread inside the block: the order of several changes the last bits."""
    limits: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limits


@cache
def _blas() -> Any:
    """The libraries of numpy and scipy, which take milliseconds to find."""
    import scipy.linalg  # noqa: F401 - loads the second one

    return ThreadpoolController().select(user_api="blas")
