package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Wrong values are refused with a message that names the value and what is allowed. */
class ChartSchemaTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            node.arena.size         | 1X        | at '/node/arena/size': '1X' does not match pattern
            node.arena.size         | 0Gi       | at '/node/arena/size': '0Gi' does not match pattern
            node.arena.medium       | disk      | at '/node/arena/medium': value must be one of 'host', 'memory', 'hugepages'
            node.arena.hostPath     | dev/shm   | at '/node/arena/hostPath': 'dev/shm' does not match pattern
            node.heap               | lots      | at '/node/heap': 'lots' does not match pattern
            node.drainSeconds       | -1        | at '/node/drainSeconds': minimum: got -1, want 0
            node.ports.tcp          | 70000     | at '/node/ports/tcp': maximum: got 70,000, want 65,535
            node.fabric             | ethernet  | at '/node/fabric': value must be one of 'auto', 'shm', 'rdma', 'tcp'
            node.principals[0].name | shop      | at '/node/principals/0': missing property 'uid'
            node.principals[0].priority | top   | at '/node/principals/0/priority': value must be one of 'high', 'low'
            node.principals[0].names[0] | a*b   | at '/node/principals/0/names/0': 'a*b' does not match pattern
            node.principals[0].may.write[0] | a | at '/node/principals/0/may': additional properties 'write' not allowed
            manager.tokens[0].name  | audit     | at '/manager/tokens/0': missing property 'sha256'
            manager.tokens[0].sha256 | abc      | at '/manager/tokens/0/sha256': 'abc' does not match pattern
            manager.tokens[0].role  | admin     | at '/manager/tokens/0/role': value must be one of 'reader', 'operator'
            node.qos.mode           | fast      | at '/node/qos/mode': value must be one of 'off', 'hw-sep', 'sw-pri'
            node.qos.highShare      | 100       | at '/node/qos/highShare': maximum: got 100, want 99
            node.qos.lowRate        | 1Mi       | at '/node/qos/lowRate': '1Mi' does not match pattern
            node.qos.quotas.batch.operations | 0 | at '/node/qos/quotas/batch/operations': minimum: got 0, want 1
            node.arena.sise         | 1Gi       | at '/node/arena': additional properties 'sise' not allowed
            nodes.arena.size        | 1Gi       | additional properties 'nodes' not allowed
            rdma.resource           | hca       | at '/rdma/resource': 'hca' does not match pattern
            rdma.count              | 0         | at '/rdma/count': minimum: got 0, want 1
            manager.replicas        | 0         | at '/manager/replicas': minimum: got 0, want 1
            manager.user            | 0         | at '/manager/user': minimum: got 0, want 1
            zookeeper.connect       | zk        | at '/zookeeper/connect': 'zk' does not match pattern
            tls.mode                | yes       | at '/tls/mode': value must be one of 'none', 'secret', 'certManager'
            cluster.name            | a/b       | at '/cluster/name': 'a/b' does not match pattern
            cluster.sessionTimeout  | 6         | at '/cluster/sessionTimeout': got number, want string
            secret.keys.cluster     | ''        | at '/secret/keys/cluster': '' does not match pattern
            """)
    void aWrongValueIsRefusedByTheSchema(String name, String value, String message) {
        assertThatThrownBy(() -> Chart.render("lite", "plain", Map.of(name, value)))
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            plain   | zookeeper.connect          |            | no ZooKeeper is configured: set zookeeper.connect to host:port
            bundled | zookeeper.connect          | zk:2181    | are both set: only one may be set
            bundled | zookeeper.tls.enabled      | true       | the bundled ZooKeeper has no TLS
            plain   | zookeeper.tls.enabled      | true       | zookeeper.tls.secret is empty: name a Secret with ca.crt
            plain   | tls.mode                   | secret     | tls.secret is empty: name a Secret with tls.crt, tls.key and ca.crt
            plain   | tls.mode                   | certManager | tls.certManager.issuer is empty
            plain   | rdma.enabled               | true       | rdma.lockMemory=capability needs node.user=0, not 10001
            plain   | node.requireFabric         | rdma       | rdma.enabled is false: the pods would get no device
            plain   | node.qos.highShare         | 80         | are 105 percent together; they must add up to 100
            plain   | node.memoryLimit           | 1Gi        | node.memoryLimit is 1Gi; node.heap (256Mi), node.extraMemory (512Mi) and node.arena.size (1Gi) need 1792Mi
            rdma    | node.arena.size            | 511Mi      | node.arena.size is 511Mi; with huge pages it must be a multiple of 2Mi
            """)
    void valuesThatDoNotFitTogetherAreRefusedByTheTemplates(
            String valueSet, String name, String value, String message) {
        assertThatThrownBy(() -> Chart.render("lite", valueSet, Map.of(name, value == null ? "" : value)))
                .hasMessageContaining(message);
    }

    @Test
    void aPropertyThatTheChartSetsFromAValueIsRefused() {
        assertThatThrownBy(() ->
                        Chart.render("lite", "plain", Map.of("node.properties.lite\\.node\\.drain-timeout", "5m")))
                .hasMessageContaining(
                        "node.properties has lite.node.drain-timeout, which the chart sets itself from another value");
        assertThatThrownBy(() -> Chart.render("lite", "plain", Map.of("manager.properties.server\\.port", "7405")))
                .hasMessageContaining("manager.properties has server.port");
    }

    /** Else the node would drain for longer than the pod's grace period. */
    @Test
    void aPropertyThatTheChartSetsIsRefusedInTheOtherSpellingsThatTheProcessesAccept() {
        assertThatThrownBy(
                        () -> Chart.render("lite", "plain", Map.of("node.properties.lite\\.node\\.drainTimeout", "5m")))
                .hasMessageContaining("node.properties has lite.node.drainTimeout, which the chart sets itself");
    }

    /** The variable would win, and the property would have no effect. */
    @ParameterizedTest
    @CsvSource({
        "node, lite.node.name",
        "node, lite.node.tcp.bind",
        "node, lite.node.managementUrl",
        "manager, lite.manager.name"
    })
    void aPropertyForWhichTheContainerHasAVariableIsRefused(String component, String name) {
        String value = component + ".properties." + name.replace(".", "\\.");
        assertThatThrownBy(() -> Chart.render("lite", "plain", Map.of(value, "other")))
                .hasMessageContaining("%s.properties has %s, which the chart sets itself".formatted(component, name));
    }

    @Test
    void aSocketsPathIsNotTooLong() {
        String directory = "/run/" + "x".repeat(100);
        assertThatThrownBy(() -> Chart.render("lite", "plain", Map.of("node.socket.hostPath", directory)))
                .hasMessageContaining(
                        "the path of the socket, " + directory + "/node.sock, has 115 bytes; it may have 106");
    }

    /** Cut off, the names of two releases in one namespace could be the same. */
    @Test
    void aClustersNameIsNotTooLong() {
        String namespace = "n".repeat(58);
        assertThat(Chart.render(namespace, "lite", "plain", Map.of())).isNotEmpty();
        assertThatThrownBy(() -> Chart.render(namespace, "lite-b", "plain", Map.of()))
                .hasMessageContaining("the name of the cluster, " + namespace
                        + ".lite-b, has 65 bytes; it may have 63: set cluster.name");
        assertThat(Chart.render(namespace, "lite-b", "plain", Map.of("cluster.name", "b")))
                .isNotEmpty();
    }

    @Test
    void theSchemaHasEveryValueAndNoOther() {
        List<String> differences = new ArrayList<>();
        Map<String, Object> schema = Chart.yaml(Chart.DIRECTORY.resolve("values.schema.json"));
        compare("", Chart.yaml(Chart.DIRECTORY.resolve("values.yaml")), schema, differences);
        assertThat(differences).containsExactly("only in the schema: /global");
    }

    private static void compare(
            String at, Map<String, Object> values, Map<String, Object> schema, List<String> differences) {
        Map<String, Object> properties = KubernetesObject.map(schema, "properties");
        for (String name : properties.keySet()) {
            if (!values.containsKey(name)) {
                differences.add("only in the schema: " + at + "/" + name);
            }
        }
        values.forEach((name, value) -> {
            if (!properties.containsKey(name)) {
                differences.add("not in the schema: " + at + "/" + name);
            } else {
                Map<String, Object> below = KubernetesObject.map(properties, name);
                if (below.containsKey("properties")) {
                    compare(at + "/" + name, KubernetesObject.asMap(value), below, differences);
                }
            }
        });
    }
}
