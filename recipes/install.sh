#!/usr/bin/env bash
# install.sh VERSION DIRECTORY: downloads a release from $RELEASES, verifies its checksum, and puts the
# program into DIRECTORY.
set -euo pipefail
version=${1#v} directory=$2

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  Darwin-arm64) target=aarch64-apple-darwin ;;
  *)
    echo "install.sh: no release for $(uname -s) on $(uname -m): use cargo install" >&2
    exit 1
    ;;
esac

name=bundle2chart-$version-$target
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
cd "$staging"
curl --fail --silent --show-error --location --remote-name-all \
  "$RELEASES/v$version/$name.tar.gz" "$RELEASES/v$version/SHA256SUMS"

# Exactly one line: a missing one would verify nothing.
grep -F "  $name.tar.gz" SHA256SUMS > expected
[ "$(wc -l < expected)" -eq 1 ]
if command -v sha256sum > /dev/null; then
  sha256sum --check --quiet expected
else
  shasum --algorithm 256 --check --quiet expected
fi

tar -xzf "$name.tar.gz"
mkdir -p "$directory"
cp "$name/bundle2chart" "$directory/bundle2chart"
