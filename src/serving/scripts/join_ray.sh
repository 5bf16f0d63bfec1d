until python3 -c "import socket, sys
socket.create_connection((sys.argv[1], 6379), 5)" "$leader" 2>/dev/null; do
  tries=$((tries + 1))
  if [ "$tries" -ge 900 ]; then
    echo "no Ray at $leader:6379 after half an hour" >&2
    exit 1
  fi
  sleep 2
done
exec ray start --address="$leader:6379" --block
