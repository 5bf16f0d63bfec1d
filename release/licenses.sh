#!/usr/bin/env bash
# licenses.sh TARGET...: prints the crates that the program has for these targets, with their licenses and
# the texts of their license files, each once. Needs jq.
set -euo pipefail
cd "$(dirname "$0")/.."

crates=$(for target in "$@"; do
  cargo tree --locked --edges normal --prefix none --target "$target" --format '{p}'
done | awk '{ print $1 " " substr($2, 2) }' | sort --unique)
# NAME VERSION|LICENSE|DIRECTORY
found=$(cargo metadata --locked --format-version 1 "${@/#/--filter-platform=}" |
  jq --raw-output '.packages[] | select(.source) |
    [.name + " " + .version, .license // "see its text", (.manifest_path | rtrimstr("Cargo.toml"))] | join("|")' |
  sort | awk -F '|' 'NR == FNR { wanted[$0]; next } $1 in wanted' <(echo "$crates") -)

echo "bundle2chart is licensed under Apache-2.0. It is linked with these crates:"
echo
awk -F '|' '{ print $1 ": " $2 }' <<< "$found"
# Each text once, with the crates that have it, in the order of the crates.
cut -d '|' -f 3 <<< "$found" | while read -r directory; do
  find "$directory" -maxdepth 1 -type f -iregex '.*/\(un\)?\(licen[sc]e\|copying\|notice\)[^/]*' | sort
done | xargs -d '\n' sha256sum | awk '
  { digest = $1; file = substr($0, 67); crate = file; sub(/\/[^\/]*$/, "", crate); sub(/.*\//, "", crate) }
  !(digest in files) { order[++count] = digest; files[digest] = file }
  { users[digest] = users[digest] (users[digest] ? ", " : "") crate }
  END { for (i = 1; i <= count; i++) print users[order[i]] "|" files[order[i]] }' |
  while IFS='|' read -r crates file; do
    printf '\n---- %s\n\n' "$crates"
    cat "$file"
  done
