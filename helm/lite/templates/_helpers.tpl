{{/* The prefix of all names: the release, and the chart if the release does not name it. */}}
{{- define "lite.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of selectors. They must never change: Kubernetes refuses a change of a selector. */}}
{{- define "lite.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "lite.labels" -}}
{{ include "lite.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "lite.cluster" -}}
{{- .Values.cluster.name | default (printf "%s.%s" .Release.Namespace .Release.Name) -}}
{{- end -}}

{{- define "lite.image" -}}
{{ .name }}:{{ .root.Values.images.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "lite.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "lite.socketDirectory" -}}
{{- .Values.node.socket.hostPath | default (printf "/run/lite/%s/%s" .Release.Namespace .Release.Name) -}}
{{- end -}}

{{- define "lite.arenaDirectory" -}}
{{- .Values.node.arena.hostPath | default (printf "/dev/shm/lite/%s/%s" .Release.Namespace .Release.Name) -}}
{{- end -}}

{{/* Megabytes of a quantity in Mi or Gi. */}}
{{- define "lite.mebibytes" -}}
{{- if hasSuffix "Gi" . -}}
{{- mul (trimSuffix "Gi" . | int64) 1024 -}}
{{- else -}}
{{- trimSuffix "Mi" . | int64 -}}
{{- end -}}
{{- end -}}

{{/* The megabytes that a node's container may use. The arena's pages count for it, except huge pages. */}}
{{- define "lite.nodeMemory" -}}
{{- $arena := include "lite.mebibytes" .Values.node.arena.size | int64 -}}
{{- $own := add (include "lite.mebibytes" .Values.node.heap | int64) (include "lite.mebibytes" .Values.node.extraMemory | int64) -}}
{{- $needed := ternary $own (add $own $arena) (eq .Values.node.arena.medium "hugepages") -}}
{{- if .Values.node.memoryLimit -}}
{{- $limit := include "lite.mebibytes" .Values.node.memoryLimit | int64 -}}
{{- if lt $limit ($needed | int64) -}}
{{- fail (printf "node.memoryLimit is %s; node.heap (%s), node.extraMemory (%s) and node.arena.size (%s) need %dMi" .Values.node.memoryLimit .Values.node.heap .Values.node.extraMemory .Values.node.arena.size ($needed | int64)) -}}
{{- end -}}
{{- $limit -}}
{{- else -}}
{{- $needed -}}
{{- end -}}
{{- end -}}

{{- define "lite.zookeeper" -}}
{{- if .Values.zookeeper.bundled.enabled -}}
{{- $name := include "lite.fullname" . -}}
{{- range $i := until 3 -}}
{{- if $i }},{{ end -}}
{{ $name }}-zookeeper-{{ $i }}.{{ $name }}-zookeeper:2181
{{- end -}}
{{- else -}}
{{- .Values.zookeeper.connect -}}
{{- end -}}
{{- end -}}

{{/* What the schema cannot check. */}}
{{- define "lite.check" -}}
{{- if and (not .Values.zookeeper.connect) (not .Values.zookeeper.bundled.enabled) -}}
{{- fail "no ZooKeeper is configured: set zookeeper.connect to host:port[,host:port...], or zookeeper.bundled.enabled=true to try LITE out" -}}
{{- end -}}
{{- if and .Values.zookeeper.connect .Values.zookeeper.bundled.enabled -}}
{{- fail "zookeeper.connect and zookeeper.bundled.enabled are both set: only one may be set" -}}
{{- end -}}
{{- if and .Values.zookeeper.tls.enabled .Values.zookeeper.bundled.enabled -}}
{{- fail "zookeeper.tls.enabled is set, but the bundled ZooKeeper has no TLS: use one of your own" -}}
{{- end -}}
{{- if and .Values.zookeeper.tls.enabled (not .Values.zookeeper.tls.secret) -}}
{{- fail "zookeeper.tls.enabled is set, but zookeeper.tls.secret is empty: name a Secret with ca.crt" -}}
{{- end -}}
{{- if and (eq .Values.tls.mode "secret") (not .Values.tls.secret) -}}
{{- fail "tls.mode is secret, but tls.secret is empty: name a Secret with tls.crt, tls.key and ca.crt" -}}
{{- end -}}
{{- if and (eq .Values.tls.mode "certManager") (not .Values.tls.certManager.issuer) -}}
{{- fail "tls.mode is certManager, but tls.certManager.issuer is empty: name an issuer" -}}
{{- end -}}
{{- if and .Values.rdma.enabled (eq .Values.rdma.lockMemory "capability") (ne (.Values.node.user | int) 0) -}}
{{- fail (printf "rdma.enabled with rdma.lockMemory=capability needs node.user=0, not %d: IPC_LOCK has no effect for other users. Or raise the hosts' limit of locked memory and set rdma.lockMemory=host" (.Values.node.user | int)) -}}
{{- end -}}
{{- if and (not .Values.rdma.enabled) (or (eq .Values.node.fabric "rdma") (eq .Values.node.requireFabric "rdma")) -}}
{{- fail "node.fabric or node.requireFabric is rdma, but rdma.enabled is false: the pods would get no device" -}}
{{- end -}}
{{- $shares := add (.Values.node.qos.highShare | int) (.Values.node.qos.lowShare | int) -}}
{{- if ne ($shares | int) 100 -}}
{{- fail (printf "node.qos.highShare and node.qos.lowShare are %d percent together; they must add up to 100" ($shares | int)) -}}
{{- end -}}
{{- $socket := printf "%s/node.sock" (include "lite.socketDirectory" .) -}}
{{- if gt (len $socket) 106 -}}
{{- fail (printf "the path of the socket, %s, has %d bytes; it may have 106: set node.socket.hostPath" $socket (len $socket)) -}}
{{- end -}}
{{- /* Cut off, two releases in one namespace could share a cluster. */}}
{{- $cluster := include "lite.cluster" . -}}
{{- if gt (len $cluster) 63 -}}
{{- fail (printf "the name of the cluster, %s, has %d bytes; it may have 63: set cluster.name" $cluster (len $cluster)) -}}
{{- end -}}
{{- $page := include "lite.mebibytes" .Values.node.arena.hugePageSize | int64 -}}
{{- if and (eq .Values.node.arena.medium "hugepages") (ne (mod (include "lite.mebibytes" .Values.node.arena.size | int64) $page) 0) -}}
{{- fail (printf "node.arena.size is %s; with huge pages it must be a multiple of %s" .Values.node.arena.size .Values.node.arena.hugePageSize) -}}
{{- end -}}
{{- end -}}

{{- define "lite.tlsSecret" -}}
{{- if eq .Values.tls.mode "certManager" -}}
{{ include "lite.fullname" . }}-tls
{{- else -}}
{{ .Values.tls.secret }}
{{- end -}}
{{- end -}}

{{/* Properties that nodes and managers have in common. */}}
{{- define "lite.clusterProperties" -}}
lite.cluster.name={{ include "lite.cluster" . }}
lite.cluster.zookeeper={{ include "lite.zookeeper" . }}
lite.cluster.session-timeout={{ .Values.cluster.sessionTimeout }}
lite.cluster.secret-file=/etc/lite/secret/cluster-secret
{{- if .Values.secret.keys.zookeeperPassword }}
lite.cluster.auth.password-file=/etc/lite/secret/zookeeper-password
{{- else }}
lite.cluster.auth.open=true
{{- end }}
{{- if ne .Values.tls.mode "none" }}
spring.ssl.bundle.pem.lite.keystore.certificate=file:/etc/lite/tls/tls.crt
spring.ssl.bundle.pem.lite.keystore.private-key=file:/etc/lite/tls/tls.key
spring.ssl.bundle.pem.lite.truststore.certificate=file:/etc/lite/tls/ca.crt
{{- end }}
{{- end -}}

{{- define "lite.nodeProperties" -}}
{{ include "lite.clusterProperties" . }}
server.address=0.0.0.0
server.port={{ .Values.node.ports.management }}
spring.lifecycle.timeout-per-shutdown-phase=10s
lite.fabric={{ .Values.node.fabric }}
{{- with .Values.node.requireFabric }}
lite.fabric.require={{ . }}
{{- end }}
lite.node.arena.size={{ include "lite.mebibytes" .Values.node.arena.size }}MB
lite.node.arena.directory=/var/lib/lite/arena
lite.node.arena.retain={{ .Values.node.arena.retain }}
lite.node.run-directory=/run/lite
lite.node.socket-mode={{ .Values.node.socket.mode }}
lite.node.drain-timeout={{ .Values.node.drainSeconds }}s
lite.node.tcp.port={{ .Values.node.ports.tcp }}
lite.node.tcp.secret-file=/etc/lite/secret/cluster-secret
{{- if ne .Values.tls.mode "none" }}
lite.node.tcp.ssl-bundle=lite
# All nodes share one certificate; a node proves its name with the key in its registration.
lite.node.tcp.verify-names=false
{{- end }}
{{- if .Values.rdma.enabled }}
lite.node.rdma.port={{ .Values.node.ports.rdma }}
{{- with .Values.rdma.device }}
lite.node.rdma.device={{ . }}
{{- end }}
{{- end }}
{{- with .Values.node.qos }}
lite.node.qos.mode={{ .mode }}
lite.node.qos.high-share={{ .highShare }}
lite.node.qos.low-share={{ .lowShare }}
lite.node.qos.light-load={{ .lightLoad }}
lite.node.qos.heavy-load={{ .heavyLoad }}
lite.node.qos.round-trip-factor={{ .roundTripFactor }}
lite.node.qos.low-rate={{ .lowRate }}
{{- range $principal, $quota := .quotas }}
{{- with $quota.bytes }}
lite.node.qos.quotas[{{ $principal }}].bytes={{ . }}
{{- end }}
{{- with $quota.operations }}
lite.node.qos.quotas[{{ $principal }}].operations={{ . | int64 }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "lite.managerProperties" -}}
{{ include "lite.clusterProperties" . }}
server.address=0.0.0.0
server.port={{ .Values.manager.ports.rest }}
{{- if ne .Values.tls.mode "none" }}
server.ssl.bundle=lite
{{- end }}
management.server.port={{ .Values.manager.ports.management }}
spring.lifecycle.timeout-per-shutdown-phase=10s
lite.manager.token-file=/etc/lite/secret/manager-token
lite.manager.start-deadline=60s
{{- end -}}

{{/*
Properties of users. The chart computes its own ones from values, and other objects depend on them. Spring takes drainTimeout for
drain-timeout, and prefers a variable of the container to a property.
*/}}
{{- define "lite.moreProperties" -}}
{{- $own := list "lite.exitmessagefile" }}
{{- range .variables }}
{{- $own = append $own (replace "-" "" .) }}
{{- end }}
{{- range regexFindAll "(?m)^[^#=\\s]+=" .own -1 }}
{{- $own = append $own (trimSuffix "=" . | replace "-" "" | lower) }}
{{- end }}
{{- range $name, $value := .more }}
{{- if has ($name | replace "-" "" | lower) $own }}
{{- fail (printf "%s has %s, which the chart sets itself from another value" $.of $name) }}
{{- end }}
{{- /* A large number of a file is a floating-point one, which Helm would write with an exponent. */}}
{{ $name }}={{ include "lite.propertyValue" (dict "of" $.of "name" $name "text" (ternary $value (toJson $value) (kindIs "string" $value))) }}
{{- end }}
{{- end -}}

{{/* A value as Java reads it from a file of properties: in ASCII, with escapes. Those of Go that Java does not have are refused. */}}
{{- define "lite.propertyValue" -}}
{{- $escaped := printf "%+q" .text | trimPrefix "\"" | trimSuffix "\"" -}}
{{- if regexMatch `^([^\\]|\\[^abvxU])*\\[abvxU]` $escaped -}}
{{- fail (printf "%s has %s with a control character or an emoji: %s" .of .name $escaped) -}}
{{- end -}}
{{- regexReplaceAll "^ | $" $escaped "\\u0020" -}}
{{- end -}}

{{/* The longest time that the hook of a node waits for its drain: the drain itself, and the start of the hook's JVM. */}}
{{- define "lite.hookSeconds" -}}
{{- add (.Values.node.drainSeconds | int64) 10 -}}
{{- end -}}

{{/* Options of the JVM, for JDK_JAVA_OPTIONS: JAVA_TOOL_OPTIONS belongs to users. */}}
{{- define "lite.javaOptions" -}}
-Xmx{{ include "lite.mebibytes" .heap }}m
{{- with .root.Values.zookeeper.tls }}
{{- if .enabled }} -Dzookeeper.client.secure=true -Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty -Dzookeeper.ssl.trustStore.location=/etc/lite/zookeeper-tls/ca.crt -Dzookeeper.ssl.trustStore.type=PEM
{{- if .clientCertificate }} -Dzookeeper.ssl.keyStore.location=/etc/lite/zookeeper-tls/client.pem -Dzookeeper.ssl.keyStore.type=PEM
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Environment that nodes and managers have in common. */}}
{{- define "lite.environment" -}}
- name: SPRING_CONFIG_ADDITIONALLOCATION
  value: file:/etc/lite/config/
- name: LITE_EXITMESSAGEFILE
  value: /dev/termination-log
- name: JDK_JAVA_OPTIONS
  value: {{ include "lite.javaOptions" . | quote }}
{{- with .javaToolOptions }}
- name: JAVA_TOOL_OPTIONS
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "lite.volumeMounts" -}}
- name: config
  mountPath: /etc/lite/config
  readOnly: true
- name: secret
  mountPath: /etc/lite/secret
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if ne .Values.tls.mode "none" }}
- name: tls
  mountPath: /etc/lite/tls
  readOnly: true
{{- end }}
{{- if .Values.zookeeper.tls.enabled }}
- name: zookeeper-tls
  mountPath: /etc/lite/zookeeper-tls
  readOnly: true
{{- end }}
{{- end -}}

{{- define "lite.volumes" -}}
- name: config
  configMap:
    name: {{ include "lite.fullname" .root }}-{{ .component }}
- name: secret
  secret:
    secretName: {{ .root.Values.secret.name | quote }}
    defaultMode: 0440
    items:
      {{- if .root.Values.secret.keys.zookeeperPassword }}
      - key: {{ .root.Values.secret.keys.zookeeperPassword | quote }}
        path: zookeeper-password
      {{- end }}
      - key: {{ .root.Values.secret.keys.cluster | quote }}
        path: cluster-secret
      {{- if ne .component "node" }}
      - key: {{ .root.Values.secret.keys.managerToken | quote }}
        path: manager-token
      {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- if ne .root.Values.tls.mode "none" }}
- name: tls
  secret:
    secretName: {{ include "lite.tlsSecret" .root | quote }}
    defaultMode: 0440
{{- end }}
{{- if .root.Values.zookeeper.tls.enabled }}
- name: zookeeper-tls
  secret:
    secretName: {{ .root.Values.zookeeper.tls.secret | quote }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/* A container that the policy "restricted" accepts. */}}
{{- define "lite.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The three probes of a process with Spring Boot's actuator. The kubelet accepts any certificate. */}}
{{- define "lite.probes" -}}
startupProbe:
  httpGet:
    path: /actuator/health/liveness
    port: management
    scheme: {{ .scheme }}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: {{ div (add (.startSeconds | int64) 1) 2 }}
livenessProbe:
  httpGet:
    path: /actuator/health/liveness
    port: management
    scheme: {{ .scheme }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /actuator/health/readiness
    port: management
    scheme: {{ .scheme }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}
