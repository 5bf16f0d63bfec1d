#!/usr/bin/env bash
# owner.sh OWNER: sets the owner of the repository in Cargo.toml, where it is kept, and in the book.
set -euo pipefail
owner=$1
cd "$(dirname "$0")/.."
old=$(sed -n 's|^repository = "https://github.com/\(.*\)/bundle2chart"$|\1|p' Cargo.toml)
grep --recursive --files-with-matches --fixed-strings "$old/bundle2chart" Cargo.toml README.md docs |
  xargs sed --in-place "s|\b$old/bundle2chart|$owner/bundle2chart|g"
