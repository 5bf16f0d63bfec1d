{%- if !config.kserve %}
{%- for workload in workloads %}
{%- if workload.is_group() %}
kubectl --namespace {{ namespace }} get pods --selector app.kubernetes.io/name={{ workload.name() }} --watch
{%- else %}
kubectl --namespace {{ namespace }} rollout status deployment/{{ workload.name() }}
{%- endif %}
{%- endfor %}
{#- Replicas without leadership are never ready, so `rollout status` would time out. #}
{%- if config.epp.replicas > 1 %}
kubectl --namespace {{ namespace }} get pods --selector {{ picker::SELECTOR }}={{ picker::name(config) }}
{%- else %}
kubectl --namespace {{ namespace }} rollout status deployment/{{ picker::name(config) }}
{%- endif %}
kubectl --namespace {{ namespace }} get inferencepool {{ config.name }} --output yaml
{%- else if let Some(maas) = config.maas %}
kubectl --namespace {{ namespace }} wait --timeout=1h --for=condition=Ready llminferenceservice/{{ config.name }}
kubectl --namespace {{ namespace }} wait --timeout=10m --for=jsonpath='{.status.phase}'=Ready maasmodelref/{{ config.name }}
kubectl --namespace {{ maas.tenant_namespace }} wait --timeout=10m --for=jsonpath='{.status.phase}'=Active maasauthpolicy/{{ config.name }}
{%- for subscription in maas.subscriptions %}
kubectl --namespace {{ maas.tenant_namespace }} wait --timeout=10m --for=jsonpath='{.status.phase}'=Active maassubscription/{{ config.name }}-{{ subscription.name }}
{%- endfor %}
{%- else %}
kubectl --namespace {{ namespace }} get llminferenceservice {{ config.name }} --watch
{%- endif %}
