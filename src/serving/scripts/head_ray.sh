ray start --head --port=6379
until python3 -c "import ray, sys
ray.init(address='auto', log_to_driver=False)
alive = [node for node in ray.nodes() if node['Alive']]
sys.exit(len(alive) < $LWS_GROUP_SIZE)"; do
  sleep 5
done
exec vllm serve "$@"
