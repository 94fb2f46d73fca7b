#!/usr/bin/env bash
# The steps of action.yml: profiles the kernels of two commits of the repository in the current directory, and judges them.
# SHAPES names a shapes file, or TESTS the arguments of pytest; BASE is the commit that HEAD is judged against; CONFIG, if
# set, a file of `neff-bench gate`, taken from BASE. Writes comment.md and verdicts.json. Exit code 1: something is worse;
# 2: neff-bench is not installed.
set -euo pipefail

command -v neff-bench > /dev/null || { echo "error: neff-bench is not on PATH: pip install it first" >&2; exit 2; }

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base"; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$BASE"
ln -s "$PWD" "$work/head"

for side in base head; do
    # Exit code 1: a case failed or a test did, which the gate judges.
    if [ -n "${SHAPES:-}" ]; then
        (cd "$work/$side" && generate-neffs --shapes "$SHAPES" --out "$work/$side.neffs" --toolchain sim) || [ $? = 1 ]
        profile-neffs "$work/$side.neffs" --toolchain sim || [ $? = 1 ]
    else
        read -ra words <<< "$TESTS"
        (cd "$work/$side" && neff-bench run --store "$work/$side.neffs" -m pytest "${words[@]}") || [ $? = 1 ]
    fi
done

options=()
if [ -n "${CONFIG:-}" ]; then options=(--config "$work/base/$CONFIG"); fi
code=0
neff-bench gate "$work/base.neffs" "$work/head.neffs" "${options[@]}" --output comment.md || code=$?
neff-bench gate "$work/base.neffs" "$work/head.neffs" "${options[@]}" --output verdicts.json || true
exit "$code"
