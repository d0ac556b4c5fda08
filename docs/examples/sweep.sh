#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sweep.sh [VATIO]: sweeps digits and ResNet-50 over batch and lanes on this machine's CPU, with the
# meter replay, and keeps what comes out beside it in sweep/. VATIO is the program (default:
# build/release/bin/vatio, else the one in PATH). What an earlier call did not finish goes on.
set -u
cd "$(dirname "$0")/../.." || exit 1
vatio=${1-}
if [ -z "$vatio" ]; then
    vatio=build/release/bin/vatio
    [ -x "$vatio" ] || vatio=$(command -v vatio) || {
        echo "sweep.sh: no vatio; build it, or give its path" >&2
        exit 1
    }
fi
curve=docs/examples/sweep/curve.csv
work=build/examples/sweep

# one NAME OPTION…
one() {
    name=$1
    shift
    "$vatio" sweep "$name" "$@" --meter replay --replay "$curve" -o "$work/$name"
    code=$?
    if [ $code -gt 1 ]; then
        return $code
    fi
    mkdir -p "docs/examples/sweep/$name" &&
        cp "$work/$name/sweep.json" "docs/examples/sweep/$name/sweep.json" &&
        # The table without progress: the sweep is complete, nothing is measured again.
        COLUMNS=100 "$vatio" sweep --resume "$work/$name" >"docs/examples/sweep/$name/table.txt"
    [ $? -le 1 ] # 1: a point is not valid, which the table says
}

one digits --batch 1..128 --lanes 1,2 --repeats 3 --duration 1s --max-latency 1ms &&
    one resnet50 --batch 1..16 --lanes 1,2 --repeats 3 --duration 2s --max-latency 500ms
