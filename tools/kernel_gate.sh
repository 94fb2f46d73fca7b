#!/usr/bin/env bash
# The steps of action.yml: profiles the kernels of two commits of the repository in the current directory, and judges them.
# SHAPES names a shapes file, or TESTS the arguments of pytest. BASE is a commit or branch: HEAD is judged against the commit
# in which HEAD left it, so that later commits of BASE do not count. CONFIG, if set, is a file of `neff-bench gate`, taken
# from the base. Where the base has no shapes file yet, every case is new. Writes comment.md and verdicts.json.
# Exit code 1: something is worse; 2: neff-bench is not installed, or there is no such base.
set -euo pipefail

command -v neff-bench > /dev/null || { echo "error: neff-bench is not on PATH: pip install it first" >&2; exit 2; }

rm -f comment.md verdicts.json
git rev-parse --quiet --verify "$BASE^{commit}" > /dev/null || { echo "error: BASE=$BASE: no such commit or branch here" >&2; exit 2; }
# A shallow clone does not hold that commit; then BASE itself is the base.
base=$(git merge-base "$BASE" HEAD) || base=$BASE
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base"; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"
ln -s "$PWD" "$work/head"

sides=(base head) before=("$work/base.neffs")
if [ -n "${SHAPES:-}" ] && [ ! -f "$work/base/$SHAPES" ]; then
    echo "note: $base has no $SHAPES, so every case is new" >&2
    sides=(head) before=("$work/new.json" --update)
fi
for side in "${sides[@]}"; do
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
if [ -f "$work/base/${CONFIG:-}" ]; then
    options=(--config "$work/base/$CONFIG")
elif [ -n "${CONFIG:-}" ]; then
    echo "note: $base has no $CONFIG, so the gate judges by its defaults" >&2
fi
code=0
neff-bench gate "${before[@]}" "$work/head.neffs" "${options[@]}" --output comment.md || code=$?
rm -f "$work/new.json"
neff-bench gate "${before[@]}" "$work/head.neffs" "${options[@]}" --output verdicts.json || true
exit "$code"
