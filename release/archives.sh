#!/usr/bin/env bash
# archives.sh VERSION PROGRAMS DIST: packs DIST/bundle2chart-VERSION-TARGET.tar.gz for each program
# PROGRAMS/TARGET/bundle2chart, with the licenses of its crates, and DIST/SHA256SUMS. Completions and man pages are written by the program
# that runs here. The same programs give the same bytes. Needs GNU tar.
set -euo pipefail
version=$1 programs=$(realpath "$2") dist=$(realpath --canonicalize-missing "$3")
cd "$(dirname "$0")/.."

native=
for directory in "$programs"/*/; do
  program=$directory/bundle2chart
  if "$program" --version > /dev/null 2>&1; then
    native=$program
  fi
done
[ -n "$native" ] || { echo "archives.sh: no program in $programs runs on this machine" >&2; exit 1; }
[ "$("$native" --version)" = "bundle2chart $version" ] || {
  echo "archives.sh: the program is $("$native" --version), not $version" >&2
  exit 1
}

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
mkdir -p "$dist" "$staging/common/completions" "$staging/common/man/man1"
"$native" completions bash > "$staging/common/completions/bundle2chart.bash"
"$native" completions fish > "$staging/common/completions/bundle2chart.fish"
"$native" completions zsh > "$staging/common/completions/_bundle2chart"
"$native" man --out "$staging/common/man/man1" 2> /dev/null
cp LICENSE README.md CHANGELOG.md "$staging/common"
mapfile -t targets < <(ls "$programs")
release/licenses.sh "${targets[@]}" > "$staging/common/THIRD-PARTY-LICENSES"

for directory in "$programs"/*/; do
  name=bundle2chart-$version-$(basename "$directory")
  cp -r "$staging/common" "$staging/$name"
  install -m 755 "$directory/bundle2chart" "$staging/$name/bundle2chart"
  tar --create --directory "$staging" --format ustar --sort name --mtime @0 --owner 0 --group 0 --numeric-owner \
    --mode u=rwX,go=rX "$name" | gzip --no-name --best > "$dist/$name.tar.gz"
done
cd "$dist"
sha256sum bundle2chart-*.tar.gz > SHA256SUMS
