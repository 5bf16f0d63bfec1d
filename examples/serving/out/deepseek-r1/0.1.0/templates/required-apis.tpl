{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/HTTPRoute") -}}
{{- fail "deepseek-r1 needs the API gateway.networking.k8s.io/v1/HTTPRoute, which this cluster does not have: install the CRDs of the Gateway API first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "inference.networking.k8s.io/v1/InferencePool") -}}
{{- fail "deepseek-r1 needs the API inference.networking.k8s.io/v1/InferencePool, which this cluster does not have: install the CRDs of the Gateway API inference extension first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet") -}}
{{- fail "deepseek-r1 needs the API leaderworkerset.x-k8s.io/v1/LeaderWorkerSet, which this cluster does not have: install LeaderWorkerSet first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor") -}}
{{- fail "deepseek-r1 needs the API monitoring.coreos.com/v1/PodMonitor, which this cluster does not have: install the Prometheus operator first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor") -}}
{{- fail "deepseek-r1 needs the API monitoring.coreos.com/v1/ServiceMonitor, which this cluster does not have: install the Prometheus operator first" -}}
{{- end -}}
{{- end -}}
