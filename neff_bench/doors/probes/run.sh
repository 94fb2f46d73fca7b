#!/bin/sh
# Builds and profiles the probes, and puts their profiles into one file. On a Trainium host with the SDK and neff-bench: sh run.sh
# The file is what neuron-sim calibrate takes. Anywhere else the same script runs the simulator, for a try.
set -e
cd "$(dirname "$0")"
generate-neffs --shapes shapes.yaml --out store "$@" || true
# One that fails leaves the others: rows.txt says which.
profile-neffs store > rows.txt || true
profile-neffs store --hot 1 > hot.txt || true  # the whole profiles, with operands
tar -czf probes.tar.gz --exclude="*.bin" --exclude="output*" store rows.txt
echo "wrote $(pwd)/probes.tar.gz: neuron-sim calibrate probes.tar.gz --output my.calibration.json"
