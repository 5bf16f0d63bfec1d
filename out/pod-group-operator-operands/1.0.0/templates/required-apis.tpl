{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "operator.podgroups.example.com/v1/PodGroupOperator") -}}
{{- fail "pod-group-operator-operands requires the API operator.podgroups.example.com/v1/PodGroupOperator, which this cluster does not have: install the chart pod-group-operator-crds first" -}}
{{- end -}}
{{- end -}}
