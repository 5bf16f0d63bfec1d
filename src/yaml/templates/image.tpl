{{- /* An image: its override in `images`, else the default, whose registry `imageRegistries` replaces. */ -}}
{{- define "bundle2chart.image" -}}
{{- $root := index . 0 -}}
{{- $override := index $root.Values.images (index . 1) -}}
{{- $reference := index . 2 -}}
{{- $host := splitList "/" $reference | first -}}
{{- $path := trimPrefix (printf "%s/" $host) $reference -}}
{{- if not (contains "/" $reference) -}}
{{- $host = "docker.io" -}}
{{- $path = printf "library/%s" $reference -}}
{{- else if not (or (contains "." $host) (contains ":" $host) (eq $host "localhost")) -}}
{{- $host = "docker.io" -}}
{{- $path = $reference -}}
{{- end -}}
{{- $registry := index $root.Values.imageRegistries $host -}}
{{- if $override -}}
{{- $override -}}
{{- else if $registry -}}
{{- printf "%s/%s" $registry $path -}}
{{- else -}}
{{- $reference -}}
{{- end -}}
{{- end -}}
