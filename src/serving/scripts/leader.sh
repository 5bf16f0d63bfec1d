set -eu
leader=$ADDRESS
if [ "$LWS_WORKER_INDEX" != 0 ]; then
  leader=$LWS_LEADER_ADDRESS
  tries=0
  until getent hosts "$leader" >/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -ge 300 ]; then
      echo "the leader $leader has no address after ten minutes" >&2
      exit 1
    fi
    sleep 2
  done
fi
