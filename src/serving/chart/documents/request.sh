{%- if let Some(maas) = config.maas %}
{%- if let Some(host) = maas.hostname %}
HOST={{ host }}
{%- else %}
{#- The endpoint is a URL, of which the third part between slashes is the host. #}
HOST=$(kubectl --namespace {{ namespace }} get maasmodelref {{ config.name }} --output 'jsonpath={.status.endpoint}' | cut -d / -f 3)
{%- endif %}
# TOKEN is a token of a user in one of the groups; the key is shown once.
KEY=$(curl "https://$HOST/maas-api/v1/api-keys" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"name": "trial", "subscription": "{{ config.name }}-{% if let Some(first) = maas.subscriptions.first() %}{{ first.name }}{% endif %}"}' | jq -r .key)
URL=$(kubectl --namespace {{ namespace }} get maasmodelref {{ config.name }} --output 'jsonpath={.status.endpoint}')
curl "$URL/v1/completions" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'
{%- else if config.kserve %}
URL=$(kubectl --namespace {{ namespace }} get llminferenceservice {{ config.name }} --output 'jsonpath={.status.url}')
curl --insecure "$URL/v1/completions" -H 'Content-Type: application/json'
{%- else if let Some(route) = config.route %}
ADDRESS=$(kubectl --namespace {% if let Some(gateway) = route.gateway_namespace %}{{ gateway }}{% else %}{{ namespace }}{% endif %} get gateway {{ route.gateway }} --output 'jsonpath={.status.addresses[0].value}')
{%- if route.auth %}
TOKEN=$(kubectl --namespace {{ namespace }} create token default --audience {{ config.name }})
{%- endif %}
curl "http://$ADDRESS{{ self.path(route) }}/v1/completions" -H 'Content-Type: application/json'
{#- A request has no wildcard, but any first label matches `*.example.com`. #}
{%- if let Some(host) = route.hosts.first() %} -H 'Host: {{ host.replace("*", "any") }}'{% endif %}
{%- if let Some(header) = route.model_header %} -H '{{ header }}: {{ config.served_name }}'{% endif %}
{%- if route.auth %} -H "Authorization: Bearer $TOKEN"{% endif %}
{%- else %}
# No route: directly to a pod, without the picker.
POD=$(kubectl --namespace {{ namespace }} get pods --selector app={{ config.name }},app.kubernetes.io/name={{ config.name }}-decode --output name | head -n 1)
kubectl --namespace {{ namespace }} port-forward "$POD" {{ topology::SERVING_PORT }} &
curl http://localhost:{{ topology::SERVING_PORT }}/v1/completions -H 'Content-Type: application/json'
{%- endif %} -d '{"model": "{{ config.served_name }}", "prompt": "Hello", "max_tokens": 16}'
