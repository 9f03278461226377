{{- define "lite.notes" -}}
LITE {{ .Chart.AppVersion }}: cluster {{ include "lite.cluster" . }}, a node on each host{{ if .Values.node.nodeSelector }} with the labels of node.nodeSelector{{ end }}.

Nodes and managers start in any order. See which are there:

  kubectl --namespace {{ .Release.Namespace }} get pods --selector app.kubernetes.io/instance={{ .Release.Name }}
  helm test {{ .Release.Name }} --namespace {{ .Release.Namespace }}

An application attaches to the node of its host:

  volumes:      - name: lite
                  hostPath: {path: {{ include "lite.socketDirectory" . }}, type: DirectoryOrCreate}
  volumeMounts: - {name: lite, mountPath: /run/lite}      (the directory, never the socket)
  securityContext of the pod: supplementalGroups: [{{ .Values.node.group | int64 }}]
  property:     lite.client.socket=/run/lite/node.sock
{{- if ne (.Values.node.user | int64) 0 }}
  JVM option:   -Dlite.client.node-uid={{ .Values.node.user | int64 }}     (the user whose node it trusts; root needs none)
{{- end }}
{{- if not .Values.node.principals }}

Every user in group {{ .Values.node.group | int64 }} may attach, as the principal uid:USER. Set node.principals to name the applications.
{{- end }}

If a pod does not become ready:

- Its last message says why: kubectl --namespace {{ .Release.Namespace }} describe pod POD, "Last State", "Message".
  A wrong property, a full or too small /dev/shm, an arena of another size, a socket directory that cannot be
  written, a limit of locked memory, no ZooKeeper and a second node of the same name are reported there.
- "secret {{ .Values.secret.name }} not found": create it; it needs the keys {{ compact (list .Values.secret.keys.cluster .Values.secret.keys.managerToken .Values.secret.keys.nodeToken .Values.secret.keys.zookeeperPassword) | join ", " }}.
{{- if .Values.rdma.enabled }}
- "Insufficient {{ .Values.rdma.resource }}": that host has no RDMA device, or its device plugin does not run. Select the
  others by node.nodeSelector.
{{- end }}
{{- if .Values.node.hostNetwork }}
- "didn't have free ports": another release uses the ports {{ .Values.node.ports.management }} and {{ .Values.node.ports.tcp }} of the host. Set node.ports.
{{- end }}
- "violates PodSecurity": the nodes mount directories of the host, which the policies baseline and restricted forbid.
  Label the namespace: pod-security.kubernetes.io/enforce=privileged
{{- if .Values.node.drainSeconds }}

The event FailedPreStopHook of a pod: its node could not move all its memory to the others before it ended. The line
"node leaves" of its log says why.
{{- end }}
{{- if .Values.zookeeper.bundled.enabled }}

The bundled ZooKeeper is for trying out. It stores its data in the volumes data-{{ include "lite.fullname" . }}-zookeeper-0 to -2.
{{- end }}
{{- if and .Values.rdma.enabled .Values.networkPolicy.enabled }}

NetworkPolicies do not filter RDMA: use a separate network for it.
{{- end }}
{{- if eq .Values.tls.mode "none" }}

Without tls.mode, the managers' token crosses the network unencrypted. TCP between nodes is encrypted by keys of the
handshake, unless lite.node.tcp.protection is none.
{{- end }}

What stays after helm uninstall:

- on each host the directories {{ include "lite.socketDirectory" . }}{{ if eq .Values.node.arena.medium "host" }} and {{ include "lite.arenaDirectory" . }}; the second one keeps {{ .Values.node.arena.size }}
  of memory until it is deleted or the host restarts{{ end }}
- the cluster's records in ZooKeeper, below /lite/{{ include "lite.cluster" . }}
{{- if .Values.zookeeper.bundled.enabled }}
- the volumes of the bundled ZooKeeper: kubectl delete pvc --selector app.kubernetes.io/instance={{ .Release.Name }}
{{- end }}
{{- end -}}
