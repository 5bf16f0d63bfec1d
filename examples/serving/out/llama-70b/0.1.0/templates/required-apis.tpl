{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/HTTPRoute") -}}
{{- fail "llama-70b requires the API gateway.networking.k8s.io/v1/HTTPRoute, which this cluster does not have: install the Gateway API CRDs first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "inference.networking.k8s.io/v1/InferencePool") -}}
{{- fail "llama-70b requires the API inference.networking.k8s.io/v1/InferencePool, which this cluster does not have: install the Gateway API Inference Extension CRDs first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject") -}}
{{- fail "llama-70b requires the API keda.sh/v1alpha1/ScaledObject, which this cluster does not have: install KEDA first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "networking.gke.io/v1/GCPBackendPolicy") -}}
{{- fail "llama-70b requires the API networking.gke.io/v1/GCPBackendPolicy, which this cluster does not have: install its CustomResourceDefinition first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "networking.gke.io/v1/HealthCheckPolicy") -}}
{{- fail "llama-70b requires the API networking.gke.io/v1/HealthCheckPolicy, which this cluster does not have: install its CustomResourceDefinition first" -}}
{{- end -}}
{{- end -}}
