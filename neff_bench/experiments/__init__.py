"""Holds experiments on the host and on built kernels: latency, tiling, buckets, linear projections. `neff_bench` has their public names."""
