{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "config.openshift.io/v1/Infrastructure") -}}
{{- fail "sealing-wax-operator requires the API config.openshift.io/v1/Infrastructure, which this cluster does not have: install the chart sealing-wax-operator-crds first" -}}
{{- end -}}
{{- end -}}
