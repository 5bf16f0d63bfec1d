{{- /* A certificate for a Service: that of an earlier install, or a new one, once per render. */ -}}
{{- define "bundle2chart.certificate" -}}
{{- $root := index . 0 -}}
{{- $service := index . 1 -}}
{{- $secret := index . 2 -}}
{{- $field := index . 3 -}}
{{- $key := printf "bundle2chart.certificate/%s" $secret -}}
{{- if not (hasKey $root $key) -}}
{{- $found := lookup "v1" "Secret" $root.Release.Namespace $secret | default dict -}}
{{- $data := get $found "data" | default dict -}}
{{- if not (and (get $data "ca.crt") (get $data "tls.crt") (get $data "tls.key")) -}}
{{- $host := printf "%s.%s" $service $root.Release.Namespace -}}
{{- $names := list (printf "%s.svc" $host) (printf "%s.svc.cluster.local" $host) $host -}}
{{- $ca := genCA (printf "CA of %s" $secret | trunc 64) 3650 -}}
{{- $made := genSignedCert (trunc 64 $host) nil $names 3650 $ca -}}
{{- $data = dict "ca.crt" (b64enc $ca.Cert) "tls.crt" (b64enc $made.Cert) "tls.key" (b64enc $made.Key) -}}
{{- end -}}
{{- $_ := set $root $key $data -}}
{{- end -}}
{{- get (get $root $key) $field -}}
{{- end -}}
