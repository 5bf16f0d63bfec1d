#!/usr/bin/env bash
# licenses.sh TARGET...: prints the crates that the program has for these targets, with their licenses and
# the texts of their license files, each once. A crate without such a file gets the text of a license that it
# names. Needs jq.
set -euo pipefail
cd "$(dirname "$0")/.."

crates=$(for target in "$@"; do
  cargo tree --locked --edges normal --prefix none --target "$target" --format '{p}'
done | awk '{ print $1 " " substr($2, 2) }' | sort --unique)
# NAME VERSION|LICENSE|DIRECTORY|AUTHORS
found=$(cargo metadata --locked --format-version 1 "${@/#/--filter-platform=}" |
  jq --raw-output '.packages[] | select(.source) |
    [.name + " " + .version, .license // "see its text", (.manifest_path | rtrimstr("Cargo.toml")),
      (.authors | join(", "))] | join("|")' |
  sort | awk -F '|' 'NR == FNR { wanted[$0]; next } $1 in wanted' <(echo "$crates") -)

mit() { # HOLDER
  cat << EOF
Copyright (c) $1

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation
the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of
the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
EOF
}

license_files() { # DIRECTORY
  find "$1" -maxdepth 1 -type f -iregex '.*/\(un\)?\(licen[sc]e\|copying\|notice\)[^/]*' | sort
}

echo "bundle2chart is licensed under Apache-2.0. It is linked with Rust's standard library (MIT OR Apache-2.0), where the"
echo "target is one of musl with musl (MIT), and with these crates:"
echo
awk -F '|' '{ print $1 ": " $2 }' <<< "$found"
# Each text once, with the crates that have it, in the order of the crates.
cut -d '|' -f 3 <<< "$found" | while read -r directory; do
  license_files "$directory"
done | xargs -d '\n' sha256sum | awk '
  { digest = $1; file = substr($0, 67); crate = file; sub(/\/[^\/]*$/, "", crate); sub(/.*\//, "", crate) }
  !(digest in files) { order[++count] = digest; files[digest] = file }
  { users[digest] = users[digest] (users[digest] ? ", " : "") crate }
  END { for (i = 1; i <= count; i++) print users[order[i]] "|" files[order[i]] }' |
  while IFS='|' read -r crates file; do
    printf '\n---- %s\n\n' "$crates"
    cat "$file"
  done

printf '\n---- std, musl\n\n'
mit "The Rust Project Contributors; 2005-2020 Rich Felker, et al."
while IFS='|' read -r crate license directory authors; do
  if [ -z "$(license_files "$directory")" ]; then
    printf '\n---- %s\n\n' "$crate"
    case "$license" in
      *Apache-2.0*) cat LICENSE ;;
      *MIT*) mit "${authors:-the authors of $crate}" ;;
      *)
        echo "licenses.sh: $crate ($license) has no license file: add the text of this license here" >&2
        exit 1
        ;;
    esac
  fi
done <<< "$found"
