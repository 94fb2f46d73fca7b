"""An AWS SDK that knows nothing of this project's tables.

It is written from AWS's pages (aws-neuron-sdk 2.32), from nki-library's harness (test/utils) and from public copies of NKI
0.6's own framework/compiled.py and compiler/ncc_driver.py. Whoever changes it should do so without opening neff_bench/sdk/:
what both rooms believe without a source, no test can find.

`installation.install` puts the programs and the packages into a folder. `habits` say how this SDK differs from the plainest
one; each habit is something that those sources show. Kernels run in numpy.
"""
