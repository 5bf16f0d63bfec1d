{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/HTTPRoute") -}}
{{- fail "qwen3-8b requires the API gateway.networking.k8s.io/v1/HTTPRoute, which this cluster does not have: install the Gateway API CRDs first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "inference.networking.k8s.io/v1/InferencePool") -}}
{{- fail "qwen3-8b requires the API inference.networking.k8s.io/v1/InferencePool, which this cluster does not have: install the Gateway API Inference Extension CRDs first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "llm-d.ai/v1alpha2/InferenceObjective") -}}
{{- fail "qwen3-8b requires the API llm-d.ai/v1alpha2/InferenceObjective, which this cluster does not have: install its CustomResourceDefinition first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor") -}}
{{- fail "qwen3-8b requires the API monitoring.coreos.com/v1/PodMonitor, which this cluster does not have: install the Prometheus Operator first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor") -}}
{{- fail "qwen3-8b requires the API monitoring.coreos.com/v1/ServiceMonitor, which this cluster does not have: install the Prometheus Operator first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "networking.istio.io/v1beta1/DestinationRule") -}}
{{- fail "qwen3-8b requires the API networking.istio.io/v1beta1/DestinationRule, which this cluster does not have: install its CustomResourceDefinition first" -}}
{{- end -}}
{{- end -}}
