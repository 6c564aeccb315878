"""Workers for a site's documents: the cores of this machine, or a cluster of the site."""

from sottovoce.clusters.local_cores import LocalCores
from sottovoce.clusters.opening import executor_workers, open_cluster

__all__ = ["LocalCores", "executor_workers", "open_cluster"]
