#!/usr/bin/env bash
# report.sh CONFIG REVISION FAIL_ON FILE: writes what the charts change since a revision as Markdown, of
# at most 60,000 bytes, which fits into a comment. Exit code 1 for findings that FAIL_ON (breaking, risky
# or none) names.
set -euo pipefail
config=$1 revision=$2 fail_on=$3 file=$4

options=()
if [ "$fail_on" != none ]; then
  options=(--fail-on "$fail_on")
fi
status=0
bundle2chart diff --config "$config" --rev "$revision" --format markdown --output "$file" \
  ${options[@]+"${options[@]}"} || status=$?
# Without a report, a comment would show that of an earlier run.
[ -s "$file" ] || exit 2
exit "$status"
