"""Hypothesis profiles: short by default, long in `make soak`."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")
