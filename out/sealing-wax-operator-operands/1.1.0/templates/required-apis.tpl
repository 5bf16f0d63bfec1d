{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "operator.sealing.example.com/v1alpha1/SealingWax") -}}
{{- fail "sealing-wax-operator-operands requires the API operator.sealing.example.com/v1alpha1/SealingWax, which this cluster does not have: install the chart sealing-wax-operator first" -}}
{{- end -}}
{{- end -}}
