from hypothesis import HealthCheck, settings

# Kernels compile on their first call, so no deadline; the same examples on every run.
settings.register_profile(
    "fedhull", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fedhull")
