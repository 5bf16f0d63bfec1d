{{- /* Fails where the cluster lacks an API that this chart needs. Without a cluster (helm template, helm lint) it does nothing. */ -}}
{{- if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
{{- if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PrometheusRule") -}}
{{- fail "awkward-operator requires the API monitoring.coreos.com/v1/PrometheusRule, which this cluster does not have: install the Prometheus Operator first" -}}
{{- end -}}
{{- end -}}
