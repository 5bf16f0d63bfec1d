set -euo pipefail
export A="${A:-1}" B='x y'
if [ "$LWS_WORKER_INDEX" -eq 0 ]; then
  exec vllm serve /model --port=8000 --tensor-parallel-size "$((LWS_GROUP_SIZE * A))" "$@"
fi
vllm serve "${MODEL%/}" --host $(hostname -i) \
  --kv-transfer-config '{"kv_connector":"NixlConnector"}' & wait
