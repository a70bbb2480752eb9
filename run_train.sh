#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh Debian 12 to a training run: sets up, builds, and trains a small
# Llama 3 on the sample text. Run again it resumes from the last checkpoint, or
# prints the result when the run is complete.
# usage: ./run_train.sh [--steps N] [RECIPE.yaml] [any option of `titan train`]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

recipe=configs/llama3_debug_tinyshakespeare.yaml
options=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      sed -n '3,6s/^# //p' "$0"
      exit 0 ;;
    --steps)
      if ! [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then
        echo "[run_train.sh] --steps: expected a positive number, got" \
          "'${2:-}'." >&2
        exit 2
      fi
      # A twentieth to warm up, as in the recipe: its own may be longer than N.
      options+=(--set "training.steps=$2"
        --set "schedule.warmup_steps=$(($2 / 20))")
      shift ;;
    --steps=*)
      set -- --steps "${1#--steps=}" "${@:2}"
      continue ;;
    *.yaml | *.yml) recipe=$1 ;;
    *) options+=("$1") ;;
  esac
  shift
done

scripts/setup
# Without the tests.
scripts/build release titan titan_plugin_manifest
# exec: Ctrl-C and SIGTERM reach titan itself, which saves and exits.
exec build/release/bin/titan train "$recipe" --resume auto \
  ${options[@]+"${options[@]}"}
