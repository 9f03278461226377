package dev.lite.helm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** The chart's README.md, from the comments of values.yaml. */
final class ChartReadme {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static final String HEAD = """
            # Helm chart of LITE

            <!-- Generated from the comments of values.yaml. To write it again: mvn verify -pl helm -am
                 -Dtest=ChartReadmeTest -Dsurefire.failIfNoSpecifiedTests=false -Dlite.helm.write=true -->

            A LITE node on each host, and two managers. [On Kubernetes](../../docs/operating/kubernetes.md) says how to
            install, size, upgrade and operate it.

                kubectl create namespace lite
                kubectl label namespace lite pod-security.kubernetes.io/enforce=privileged
                kubectl --namespace lite create secret generic lite \\
                    --from-literal=cluster-secret=$(openssl rand -hex 32) \\
                    --from-literal=manager-token=$(openssl rand -hex 32) \\
                    --from-literal=node-token=$(openssl rand -hex 32) \\
                    --from-literal=zookeeper-password=$(openssl rand -hex 32)
                helm install lite helm/lite --namespace lite --set zookeeper.connect=zk-1:2181,zk-2:2181,zk-3:2181

            To try it out without a ZooKeeper, set `zookeeper.bundled.enabled=true` instead.

            **Pod security.** Managers, ZooKeeper and the test fulfill the policy `restricted`. Nodes and applications
            mount directories of the host, for the socket and the arena, which `baseline` and `restricted` forbid. So the
            namespaces of both need `privileged`. Apart from that, a node has no rights: no privilege escalation, no
            capability, a read-only root file system, a user that is not root. Its initial container is root with CHOWN
            and FOWNER, because the kubelet creates those directories for root.

            With RDMA, a node is root with the only capability IPC_LOCK, because it locks its whole arena, and the
            capability has no effect for other users. With `rdma.lockMemory=host` it has neither; the container runtime's
            limit of locked memory must then be raised.

            **Draining.** Before a pod of a node ends, its preStop hook makes the node move its memory to the others, for
            at most `node.drainSeconds`. The grace period of the pod is 45 seconds more. If memory stays, the pod has the
            event `FailedPreStopHook`, and the node's log the reason.

            **Quality of service** and all other properties without a value of their own: `node.properties` and
            `manager.properties`.
            """;

    private ChartReadme() {}

    /**
     * A documented value.
     *
     * @param name with the names above it, separated by dots
     */
    record Value(String name, String description, Object defaultValue) {}

    static String markdown() {
        StringBuilder page = new StringBuilder(HEAD);
        String section = "";
        for (Value value : values()) {
            String group = value.name().replaceFirst("\\..*", "");
            if (!group.equals(section)) {
                section = group;
                page.append("\n## ").append(group).append("\n\n| value | default | description |\n|---|---|---|\n");
            }
            page.append("| `%s` | `%s` | %s |\n"
                    .formatted(value.name(), JSON.writeValueAsString(value.defaultValue()), value.description()));
        }
        return page.toString();
    }

    /**
     * All values, in the order of the file.
     *
     * @throws IllegalStateException if one has no comment
     */
    static List<Value> values() {
        Map<String, Object> all = Chart.yaml(Chart.DIRECTORY.resolve("values.yaml"));
        List<Value> values = new ArrayList<>();
        List<String> path = new ArrayList<>();
        String comment = "";
        int skippedIndent = Integer.MAX_VALUE;
        for (String line :
                Text.of(Chart.DIRECTORY.resolve("values.yaml")).lines().toList()) {
            String text = line.strip();
            int indent = line.length() - line.stripLeading().length();
            if (text.isEmpty()) {
                comment = "";
            } else if (text.startsWith("#") && indent <= skippedIndent) {
                comment = (comment + " " + text.substring(1).strip()).strip();
            } else if (indent <= skippedIndent) { // not below a documented value
                skippedIndent = Integer.MAX_VALUE;
                path.subList(indent / 2, path.size()).clear();
                path.add(text.substring(0, text.indexOf(':')));
                Object value = find(all, path);
                if (!comment.isEmpty()) {
                    values.add(new Value(String.join(".", path), comment, value));
                    skippedIndent = indent;
                } else if (!(value instanceof Map<?, ?> map) || map.isEmpty()) {
                    throw new IllegalStateException(String.join(".", path) + " has no comment in values.yaml");
                }
                comment = "";
            }
        }
        return values;
    }

    private static Object find(Map<String, Object> all, List<String> path) {
        Object current = all;
        for (String name : path) {
            Object next = KubernetesObject.asMap(current).get(name);
            if (next == null) {
                throw new IllegalStateException(String.join(".", path) + " has no value in values.yaml");
            }
            current = next;
        }
        return current;
    }
}
