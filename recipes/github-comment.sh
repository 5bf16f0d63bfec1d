#!/usr/bin/env bash
# github-comment.sh CONFIG AUTHOR NUMBER FILE: writes a file as a comment on a pull request, in place of the
# one that AUTHOR wrote for CONFIG before. Comments of others are never changed, whatever they contain.
set -euo pipefail
config=$1 author=$2 number=$3 file=$4

export AUTHOR=$author MARKER="<!-- bundle2chart: $config -->"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{ echo "$MARKER"; cat "$file"; } > "$body"

comments=repos/$GITHUB_REPOSITORY/issues/$number/comments
id=$(gh api --paginate "$comments" \
  --jq '.[] | select(.user.login == env.AUTHOR and (.body | startswith(env.MARKER))) | .id' | head -n 1)
if [ -n "$id" ]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$body"
else
  gh api --silent --method POST "$comments" --field "body=@$body"
fi
