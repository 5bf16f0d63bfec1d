{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "inference.networking.k8s.io/v1/InferencePool") -}}
{{- fail "llama-405b-ray requires the API inference.networking.k8s.io/v1/InferencePool, which this cluster does not have: install the Gateway API Inference Extension CRDs first" -}}
{{- end -}}
{{- if not (.Capabilities.APIVersions.Has "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet") -}}
{{- fail "llama-405b-ray requires the API leaderworkerset.x-k8s.io/v1/LeaderWorkerSet, which this cluster does not have: install LeaderWorkerSet first" -}}
{{- end -}}
{{- end -}}
