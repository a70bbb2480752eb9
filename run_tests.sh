#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh Debian 12 to a green test run: sets up, checks the sources,
# builds, tests. Every step runs even when an earlier one failed; the exit code
# is 0 only if all passed, and then ctest's summary is the last thing printed.
# usage: ./run_tests.sh [--full] [ctest options]
#   --full  also LibTorch 2.15, all tests under the address and thread
#           sanitizers, clang-tidy, long fuzzing, converting 16 GB; report in
#           bench/results
# example: ./run_tests.sh -R unit_cli
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

is_full=no
ctest_options=()
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --full) is_full=yes ;;
    *) ctest_options+=("$argument") ;;
  esac
done

mkdir -p build/test_logs
names=()
results=()
failures=0

# step NAME COMMAND...: runs it with its output on the screen and in a log.
step() {
  local name=$1 started=$SECONDS result
  shift
  printf '== %s\n' "$name"
  if "$@" 2>&1 | tee "build/test_logs/$name.log"; then
    result=passed
  else
    result=FAILED
    failures=$((failures + 1))
  fi
  names+=("$name")
  results+=("$result, $((SECONDS - started)) s")
  [ "$result" = passed ]
}

# The tests' own thread pools share the cores; two at a time keep both busy, if
# waiting threads sleep: spinning ones made a training step 100 times slower.
tests_of() {
  local preset=$1
  shift
  OMP_WAIT_POLICY=PASSIVE ctest --test-dir "build/$preset" --parallel 2 \
    --output-on-failure --no-tests=error "$@"
}

checks() {
  local code=0 check
  for check in format layers sizes names tour; do
    "scripts/check_$check" || code=1
  done
  return $code
}

# The parsers of untrusted files, under the address and UB sanitizers.
parsers_under_asan() {
  scripts/build asan unit_base && tests_of asan -R '^unit_base$'
}

# The plugins just built, loaded by the small host of tests/abi compiled
# against the newest LibTorch: the promise that plugins outlive a LibTorch.
plugins_on_newest_libtorch() {
  if [ ! -x tests/abi/run ]; then
    echo "no tests/abi/run in this tree: nothing to do"
    return 0
  fi
  tests/abi/run build/release/plugins "$newest_libtorch"
}

second_libtorch() {
  TITAN_LIBTORCH=$newest_libtorch scripts/build newest &&
    tests_of newest -LE gpu
}

# One OpenMP thread: libgomp is not instrumented, so the sanitizer cannot see it
# join its threads and reports races that are none. The threads that are ours
# (ranks, readers, writers) all run.
thread_sanitizer() {
  scripts/build tsan &&
    TSAN_OPTIONS="suppressions=$PWD/tsan.supp halt_on_error=0" \
    OMP_NUM_THREADS=1 tests_of tsan -L 'unit|dist'
}

# Fuzzers exist in the preset fuzz only (clang); none found is a failure
# (--no-tests=error of tests_of).
long_fuzz() {
  scripts/build fuzz $(sed -n 's/^titan_fuzzer(\([a-z_]*\) .*/fuzz_\1/p' \
    tests/fuzz/CMakeLists.txt) &&
    TITAN_FUZZ_SECONDS=${TITAN_FUZZ_SECONDS:-300} tests_of fuzz -L fuzz
}

# 16 GB in Llama 3 8B's shape, 32 GB of disk: 1 GiB of memory must do.
convert_8b() {
  bench/convert_memory build/release/bin/titan build/convert_8b 8b 1024 \
    hf titan-weights
}

write_report() {
  local report i
  report=bench/results/tests_$(date +%Y-%m-%d).md
  mkdir -p bench/results
  {
    echo "# Full test run, $(date +%Y-%m-%d)"
    echo
    echo "Commit $(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)," \
      "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo |
        head -1). Command: \`./run_tests.sh --full\`."
    echo
    echo "| step | result |"
    echo "|---|---|"
    for i in "${!names[@]}"; do echo "| ${names[$i]} | ${results[$i]} |"; done
    echo
    echo '```'
    summary_of_ctest
    echo '```'
  } >"$report"
  echo "report: $report"
}

summary_of_ctest() {
  sed -n '/tests passed, .* tests failed out of/,$p' build/test_logs/tests.log
}

setup_options=(--checks --second-libtorch)
if [ $is_full = yes ]; then setup_options+=(--full); fi
scripts/setup "${setup_options[@]}" || exit
# Optional: without it (no network) the plugin is not built, its tests skipped.
scripts/setup --no-packages --with parquet ||
  echo "run_tests: without Arrow titan.parquet is not built and not tested"
newest_libtorch=${TITAN_CACHE:-$HOME/.cache/titan}/libtorch-2.15.0

step checks checks
if step build scripts/build release; then
  step symbols scripts/check_symbols build/release/plugins
  step asan parsers_under_asan
  step abi plugins_on_newest_libtorch
  if [ $is_full = yes ]; then
    step second_libtorch second_libtorch
    step asan_all eval 'scripts/build asan && tests_of asan'
    step tsan thread_sanitizer
    step tidy scripts/check_tidy
    step fuzz long_fuzz
    step convert_8b convert_8b
  fi
  step tests tests_of release ${ctest_options[@]+"${ctest_options[@]}"}
fi
if [ $is_full = yes ]; then write_report; fi

printf '\n== summary (logs in build/test_logs)\n'
for i in "${!names[@]}"; do printf '%-16s %s\n' "${names[$i]}" "${results[$i]}"
done
if [ $failures != 0 ]; then
  echo "$failures of ${#names[@]} steps failed"
  exit 1
fi
summary_of_ctest
