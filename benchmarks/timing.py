"""Fair timing on a noisy machine: rivals take turns, CPU time counts, medians are compared."""

import resource
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from statistics import median

from threadpoolctl import threadpool_limits


def cpu_seconds() -> float:
    """CPU time of this process and of the children that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra on one thread: idle ones would spin on a busy machine, as CPU time."""
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def interleaved(
    rivals: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 5,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Median seconds of each rival, measured in turns so that noise meets all of them alike."""
    spent: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, job in rivals.items():
            start = clock()
            job()
            spent[name].append(clock() - start)
    return {name: median(times) for name, times in spent.items()}


def forget_peak() -> None:
    """Let the peak of this process' memory start again from what it has now, where Linux can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_megabytes() -> float:
    """The most memory this process ever had; the parent's share of it is not counted (Linux)."""
    status = Path("/proc/self/status")
    if not status.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    for line in status.read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    raise AssertionError("Linux says VmHWM")
