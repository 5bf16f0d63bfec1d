#!/usr/bin/env bash
# gitlab-comment.sh CONFIG FILE: writes a file as a note on the merge request of this pipeline, in place of
# the one that the owner of $BUNDLE2CHART_TOKEN wrote for CONFIG before. Needs curl and jq, and a project
# access token with the scope `api`: job tokens cannot write notes.
set -euo pipefail
config=$1 file=$2

# The token is read from a file, because arguments are visible to other processes.
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
printf 'header = "PRIVATE-TOKEN: %s"\n' "$BUNDLE2CHART_TOKEN" > "$staging/curlrc"
request() {
  curl --fail --silent --show-error --config "$staging/curlrc" "$@"
}

marker="<!-- bundle2chart: $config -->"
jq --raw-input --slurp --arg marker "$marker" '{ body: ($marker + "\n" + .) }' "$file" > "$staging/body.json"
notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
author=$(request "$CI_API_V4_URL/user" | jq .id)

page=1 id=
while [ -z "$id" ]; do
  request "$notes?per_page=100&page=$page" > "$staging/notes.json"
  [ "$(jq length "$staging/notes.json")" -gt 0 ] || break
  id=$(jq --arg marker "$marker" --argjson author "$author" \
    'map(select(.author.id == $author and (.body | startswith($marker)))) | .[0].id // empty' "$staging/notes.json")
  page=$((page + 1))
done
if [ -n "$id" ]; then
  target=$notes/$id method=PUT
else
  target=$notes method=POST
fi
request --request "$method" --header 'Content-Type: application/json' \
  --data "@$staging/body.json" --output /dev/null "$target"
