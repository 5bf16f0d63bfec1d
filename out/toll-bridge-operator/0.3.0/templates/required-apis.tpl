{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "cert-manager.io/v1/Certificate") -}}
{{- fail "toll-bridge-operator requires the API cert-manager.io/v1/Certificate, which this cluster does not have: install cert-manager first" -}}
{{- end -}}
{{- end -}}
