from neff_bench.start import neff_bench

neff_bench()
