#!/bin/bash
# Gets the CRDs of the Gateway API and of its inference extension. Commit them: a build needs no
# network then, and a new version is a change that somebody reviews.
set -euo pipefail
cd "$(dirname "$0")/manifests"
releases=https://github.com/kubernetes-sigs
curl --fail --location --silent --show-error --output gateway-api.yaml \
  "$releases/gateway-api/releases/download/v1.4.0/standard-install.yaml"
curl --fail --location --silent --show-error --output inference-extension.yaml \
  "$releases/gateway-api-inference-extension/releases/download/v1.2.0/manifests.yaml"
