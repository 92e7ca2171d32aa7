{{/* The name of what is made: `mailboat` for a release of that name, as in kubernetes/. */}}
{{- define "mailboat.name" -}}
{{- .Values.fullnameOverride | default .Release.Name }}
{{- end }}

{{/* What tells a release's pods from others. The name is also Prometheus' job, so it is not the release's. */}}
{{- define "mailboat.selector" -}}
app.kubernetes.io/name: mailboat
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels that Helm's guide asks for. */}}
{{- define "mailboat.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* A manifest of kubernetes/ under the release's name and with Helm's labels. Arguments: the root, the path. */}}
{{- define "mailboat.manifest" -}}
{{- $root := index . 0 }}
{{- $path := index . 1 }}
{{- $text := $root.Files.Get $path }}
{{- if not $text }}{{ fail (printf "%s is not in the chart" $path) }}{{ end }}
{{- $manifest := $text | fromYaml }}
{{- if hasKey $manifest "Error" }}{{ fail (printf "%s: %s" $path $manifest.Error) }}{{ end }}
{{- $metadata := $manifest.metadata }}
{{- $_ := set $metadata "name" ($metadata.name | replace "mailboat" (include "mailboat.name" $root)) }}
{{- $_ := set $metadata "labels" (merge (dict) (include "mailboat.labels" $root | fromYaml) ($metadata.labels | default (dict "app.kubernetes.io/name" "mailboat"))) }}
{{- toYaml $manifest }}
{{- end }}

{{/* The image with a tag or a digest. */}}
{{- define "mailboat.image" -}}
{{- with .Values.image }}
{{- if not .repository }}{{ fail "image.repository is missing: expected the image in your registry, such as registry.example.com/mailboat" }}{{ end }}
{{- if not (or .tag .digest) }}{{ fail "image.tag is missing: expected the tag of an image, or image.digest" }}{{ end }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag }}{{ end }}
{{- end }}
{{- end }}

{{/* The settings' file. */}}
{{- define "mailboat.settings" -}}
{{- if not .Values.settings }}{{ fail "settings are missing: expected the workers' configuration, such as --set-file settings=mailboat.yaml" }}{{ end }}
{{- if kindIs "string" .Values.settings }}{{ .Values.settings }}{{ else }}{{ toYaml .Values.settings }}{{ end }}
{{- end }}

{{/* What the pods of workers and of the topics' Job share. Arguments: the root, the pod's template; returns the template. */}}
{{- define "mailboat.pod" -}}
{{- $root := index . 0 }}
{{- $template := index . 1 }}
{{- $values := $root.Values }}
{{- $pod := $template.spec }}
{{- $container := first $pod.containers }}
{{- $_ := set $container "image" (include "mailboat.image" $root) }}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end }}
{{- with $values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end }}
{{- $given := list }}
{{- range $values.env }}{{ $given = append $given .name }}{{ end }}
{{- $env := $values.env }}
{{- range $container.env }}{{ if not (has .name $given) }}{{ $env = append $env . }}{{ end }}{{ end }}
{{- with $env }}{{ $_ := set $container "env" . }}{{ end }}
{{- $_ := set $container "volumeMounts" (concat $container.volumeMounts $values.volumeMounts) }}
{{- $_ := set $pod "volumes" (concat $pod.volumes $values.volumes) }}
{{- with $values.podSecurityContext }}{{ $_ := set $pod "securityContext" . }}{{ end }}
{{- with $values.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with $values.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- $_ := set $template.metadata "labels" (merge (dict) (dict "app.kubernetes.io/instance" $root.Release.Name) $template.metadata.labels $values.podLabels) }}
{{- with $values.podAnnotations }}{{ $_ := set $template.metadata "annotations" . }}{{ end }}
{{- toYaml $template }}
{{- end }}
