{{- /* Fails where the CRD of the cluster is from a newer version than that of the chart. */ -}}
{{- define "bundle2chart.crd-version" -}}
{{- $name := index . 0 -}}
{{- $version := index . 1 -}}
{{- $allowed := index . 2 -}}
{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name | default dict -}}
{{- $installed := dig "metadata" "annotations" "bundle2chart/version" "" $found -}}
{{- if and (not $allowed) (regexMatch "^[0-9]+[.][0-9]+[.][0-9]+" $installed) -}}
{{- if gt ((semver $installed).Compare (semver $version)) 0 -}}
{{- fail (printf "CRD %s in the cluster is from version %s, newer than %s in this chart, which may lack API versions and fields that objects use; to downgrade it, pass --set crds.allowDowngrade=true" $name $installed $version) -}}
{{- end -}}
{{- end -}}
{{- end -}}
