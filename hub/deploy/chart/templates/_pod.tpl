{{- define "hub.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "hub.labels" -}}
app.kubernetes.io/name: amn-hub
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hub.db" -}}
{{- if and (not .Values.database.secret) (or (gt (int .Values.replicas) 1) .Values.sweep.enabled) }}{{ fail "more than one process needs database.secret: a file is for one" }}{{ end -}}
{{- if and (not .Values.storage.existing) (gt (int .Values.replicas) 1) (ne .Values.storage.access "ReadWriteMany") }}{{ fail "more than one replica needs storage.access ReadWriteMany: all of them see the contents" }}{{ end -}}
{{- if .Values.database.secret }}
- name: AMN_HUB_DB
  valueFrom: {secretKeyRef: {name: {{ .Values.database.secret | quote }}, key: url}}
{{- else }}
- name: AMN_HUB_DB
  value: /data/hub.db
{{- end }}
{{- end }}

{{- define "hub.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "hub.podsecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
