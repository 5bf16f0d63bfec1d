#!/usr/bin/env bash
# version.sh TAG: prints the version of a tag, if it is that of Cargo.toml and CHANGELOG.md has it.
set -euo pipefail
tag=$1
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
if [ "$tag" != "v$version" ]; then
  echo "version.sh: tag $tag, but Cargo.toml has version $version" >&2
  exit 1
fi
if ! grep -q "^## $version\b" CHANGELOG.md; then
  echo "version.sh: CHANGELOG.md has no section \"## $version\"" >&2
  exit 1
fi
echo "$version"
