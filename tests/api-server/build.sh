#!/bin/bash
# Builds kube-apiserver 1.20.2 from Debian's source package: build.sh TARGET-FILE
#
# For Debian 12 on x86-64, as root: it installs a Go compiler with apt-get. The sources are fetched
# with apt's own lists and checksums, kept apart from those of this machine. Takes about eight
# minutes of two processors and 2 GB below the folder of TARGET-FILE, which are given back.
set -euo pipefail
target=$(readlink -m "$1")
version=1.20.5+really1.20.2-1.1+deb12u1
work=$(dirname "$target")/build
export DEBIAN_FRONTEND=noninteractive
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/home"
trap 'rm -rf "$work"' EXIT
cd "$work"

# Sources of this machine's own mirror, without a word in its own configuration.
lists=(/etc/apt/sources.list.d/*.sources /etc/apt/sources.list)
mirror=$(cat "${lists[@]}" 2>/dev/null |
  sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?(http[^ ]+).*/\2/p' |
  sed -n 1p) || true
[ -n "$mirror" ] || { echo 'no Debian mirror is configured for apt' >&2; exit 1; }
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" \
  >apt/sources.list
own=(-o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
  -o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o APT::Sandbox::User=root)
apt-get -qq "${own[@]}" update
apt-get -qq "${own[@]}" --download-only source "kubernetes=$version"

apt-get -qq update
apt-get -qq --no-install-recommends install golang-1.19-go dpkg-dev rsync make gcc >/dev/null
# The reflect2 in the sources crashes when Go 1.18 or later compiled it; Debian has a later one.
apt-get -qq -o APT::Sandbox::User=root download golang-github-modern-go-reflect2-dev
dpkg-deb -x golang-github-modern-go-reflect2-dev_*.deb reflect2
dpkg-source --no-check -x kubernetes_*.dsc kubernetes >/dev/null # apt has checked it
rm kubernetes/vendor/github.com/modern-go/reflect2/*.go
cp reflect2/usr/share/gocode/src/github.com/modern-go/reflect2/*.go \
  kubernetes/vendor/github.com/modern-go/reflect2/

# Compiled by Go 1.18 or later, this comparison takes an empty string for null, and the server refuses
# every CRD with `default: ""`. Its own builds, by Go 1.15, do not.
zero=' || reflect.DeepEqual(reflect.Zero(reflect.TypeOf(data)), reflect.ValueOf(data))'
for package in github.com/go-openapi/validate k8s.io/kube-openapi/pkg/validation/validate; do
  type=kubernetes/vendor/$package/type.go
  [ -f "$type" ] || type=kubernetes/staging/src/$package/type.go
  python3 - "$type" "if data == nil" "$zero" <<'PATCH'
import sys
path, kept, dropped = sys.argv[1:]
text = open(path).read()
assert text.count(kept + dropped) == 1, path
open(path, "w").write(text.replace(kept + dropped, kept))
PATCH
done

# Its makefiles want to be below a GOPATH, and ask Git for a version unless they are told.
mkdir -p gopath/src/k8s.io
mv kubernetes gopath/src/k8s.io/kubernetes
cd gopath/src/k8s.io/kubernetes
env HOME="$work/home" PATH="/usr/lib/go-1.19/bin:$PATH" GOPATH="$work/gopath" GOPROXY=off GOFLAGS= \
  CGO_ENABLED=0 KUBE_GIT_VERSION=v1.20.2 KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20 \
  KUBE_GIT_TREE_STATE=archive KUBE_GIT_COMMIT=0000000000000000000000000000000000000000 \
  make WHAT=cmd/kube-apiserver GOLDFLAGS='-s -w' >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log" >&2; exit 1; }
cp -L _output/bin/kube-apiserver "$target.new"
mv "$target.new" "$target"
