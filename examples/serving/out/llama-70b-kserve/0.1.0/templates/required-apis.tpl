{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "serving.kserve.io/v1alpha2/LLMInferenceService") -}}
{{- fail "llama-70b-kserve requires the API serving.kserve.io/v1alpha2/LLMInferenceService, which this cluster does not have: install its CustomResourceDefinition first" -}}
{{- end -}}
{{- end -}}
