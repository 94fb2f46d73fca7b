"""Says what AWS's compiler is known to refuse, and no rule judges: the code that is kept for it, what it is, and why it has no judge."""

UNJUDGED = {
    "NBLC911": ("a collective at LNC 2 needs kernel[2]", "the LNC of the graph around the kernel is not in its file"),
    "NBLC916": ("limits of reduce_scatter_v", "its interface is of SDK 2.33 alone, and it cannot be recorded yet"),
    "NBLC917": ("rdispls of all_to_all_v between nodes", "where the ranks run is not in the file"),
    "NBLD326": ("nc_n_gather keeps the dtype", "NBLD325 says it"),
    "NBLE606": ("power does not read PSUM", "it runs on GpSimd: NBLM520 says it"),
    "NBLE636": ("one row is not copied from partition 63 to 0", "63 is no partition to begin at: NBLE634 says it"),
    "NBLE643": ("newer names of gelu's functions", "all known releases have them"),
    "NBLK952": ("the MLP kernel takes at most 4096 columns", "a kernel of the compiler's package, which is closed"),
    "NBLK953": (
        "a graph has too many instructions",
        "AWS's pages name no number; check says how many a large kernel has",
    ),
    "NBLK954": ("a custom call that is not found", "it is of the graph around the kernel"),
    "NBLL904": ("the launch and the compiler have one LNC", "the environment of the run is not in the file"),
    "NBLL905": ("both cores have the same run-time branches", "AWS does not refuse it: the run hangs"),
    "NBLM508": ("a mutable parameter is returned", "the current dialect has no such type"),
    "NBLM523": ("several sums in one tile of PSUM", "AWS does not refuse it, and one user saw wrong numbers"),
    "NBLM532": ("older names of nl.tile_size", "NBLN129 and NBLN144 say it"),
    "NBLN134": ("kernels of SDK 2.28 and 2.29 in one trace", "a file does not say for which release it was written"),
    "NBLN137": ("names that came with NKI 0.2", "all known releases have them"),
    "NBLP227": ("Python's control flow on run-time values", "NBLP214 says it"),
    "NBLP228": ("a very large body of a dynamic loop", "how large is not public"),
    "NBLS405": ("a matmul sums over 128 rows at most", "no tile has more: NBLS401 says it"),
    "NBLS414": ("the Tensor Engine transposes 128 x 128", "no result has more rows: NBLS401 says it"),
    "NBLS418": ("nl.add and the like do not broadcast", "a recorded call does not say whether nl or nisa issued it"),
    "NBLS435": ("local_gather works on 16 partitions", "NBLD327 says it"),
    "NBLX716": ("dma_copy writes 128 partitions", "no tile has more: NBLS401 says it"),
    "NBLX720": ("copies that the graph's compiler joins", "it is of the graph around the kernel"),
}
"""Their codes are never used again."""
