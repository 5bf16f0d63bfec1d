if [ "${leader#*:}" != "$leader" ]; then
  leader="[$leader]"
fi
exec python3 -m sglang.launch_server "$@" --dist-init-addr="$leader:PORT" --node-rank="$LWS_WORKER_INDEX"
