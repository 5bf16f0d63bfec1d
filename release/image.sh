#!/usr/bin/env bash
# image.sh VERSION PROGRAMS CERTIFICATES LAYOUT: writes a container image from scratch as an OCI image layout,
# with the static programs PROGRAMS/{x86_64,aarch64}-unknown-linux-musl/bundle2chart that exist, the licenses
# of their crates, and the file of CA certificates, because TLS uses those of the system. The same inputs give the same digests.
set -euo pipefail
version=$1 programs=$2 certificates=$3 layout=$4
scripts=$(dirname "$0")

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
mkdir -p "$layout/blobs/sha256"

# Moves a file to the blobs; sets digest and size.
blob() {
  digest=$(sha256sum "$1" | cut -d ' ' -f 1) size=$(stat --format %s "$1")
  mv "$1" "$layout/blobs/sha256/$digest"
}

manifests=
for platform in x86_64:amd64 aarch64:arm64; do
  target=${platform%:*}-unknown-linux-musl architecture=${platform#*:}
  [ -f "$programs/$target/bundle2chart" ] || continue

  root=$staging/$architecture
  mkdir -p "$root/etc/ssl/certs" "$root/tmp" "$root/work"
  install -m 755 "$programs/$target/bundle2chart" "$root/bundle2chart"
  install -m 644 "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
  "$scripts/licenses.sh" "$target" > "$root/THIRD-PARTY-LICENSES"
  chmod 644 "$root/THIRD-PARTY-LICENSES"
  chmod 755 "$root" "$root/etc" "$root/etc/ssl" "$root/etc/ssl/certs" "$root/work"
  chmod 1777 "$root/tmp"
  tar --create --directory "$root" --format ustar --sort name --mtime @0 --owner 0 --group 0 --numeric-owner \
    THIRD-PARTY-LICENSES bundle2chart etc tmp work > "$staging/layer.tar"
  diff_id=$(sha256sum "$staging/layer.tar" | cut -d ' ' -f 1)
  gzip --no-name --best "$staging/layer.tar"
  blob "$staging/layer.tar.gz"
  layer="{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",\"digest\":\"sha256:$digest\",\"size\":$size}"

  cat > "$staging/config.json" << END
{"architecture":"$architecture","os":"linux","config":{"User":"65532:65532","WorkingDir":"/work","Entrypoint":["/bundle2chart"],"Env":["PATH=/","BUNDLE2CHART_CACHE=/tmp/cache"],"Labels":{"org.opencontainers.image.title":"bundle2chart","org.opencontainers.image.version":"$version","org.opencontainers.image.licenses":"Apache-2.0"}},"rootfs":{"type":"layers","diff_ids":["sha256:$diff_id"]}}
END
  blob "$staging/config.json"
  config="{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"sha256:$digest\",\"size\":$size}"
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
    "$config" "$layer" > "$staging/manifest.json"
  blob "$staging/manifest.json"
  manifests+="${manifests:+,}{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"sha256:$digest\",\"size\":$size,\"platform\":{\"os\":\"linux\",\"architecture\":\"$architecture\"}}"
done
[ -n "$manifests" ] || { echo "image.sh: no static program in $programs" >&2; exit 1; }

printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$manifests" \
  > "$staging/index.json"
blob "$staging/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' > "$layout/oci-layout"
printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:%s","size":%s,"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}' \
  "$digest" "$size" "$version" > "$layout/index.json"
