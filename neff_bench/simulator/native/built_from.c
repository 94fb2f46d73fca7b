/* Which sources the library was compiled from: setup.py defines it, and neff_bench.simulator.native compares. */

const char *const built_from = BUILT_FROM;
