"""`neff-bench install-benchmarks`: a `benchmarks/` directory for a checkout of nki-library."""
