# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of the scripts: a scratch folder that is removed, and
# two expectations on a command. A test file ends with `finish`.
set -uo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
expectations=0
failures=0

# expect CODE TEXT COMMAND...: the command exits with CODE and its output
# contains TEXT.
expect() {
  local code=$1 text=$2 output got
  shift 2
  output=$("$@" 2>&1)
  got=$?
  expectations=$((expectations + 1))
  if [ $got != "$code" ] || [[ $output != *"$text"* ]]; then
    failures=$((failures + 1))
    echo "FAILED: $*"
    echo "  expected exit $code and text '$text', got exit $got and:"
    sed 's/^/    /' <<<"$output"
  fi
}

# put FILE LINE...: writes a sample source.
put() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$@" >"$file"
}

finish() {
  echo "$expectations expectations, $failures failures"
  [ $failures = 0 ] && [ $expectations -gt 0 ]
}
