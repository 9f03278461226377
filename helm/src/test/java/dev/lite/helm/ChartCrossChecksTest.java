package dev.lite.helm;

import static dev.lite.helm.KubernetesObject.list;
import static dev.lite.helm.KubernetesObject.map;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

/** What people get wrong between the objects of a chart. */
class ChartCrossChecksTest {
    static final List<String> SETS = Chart.VALUE_SETS;

    private static final long MEBIBYTE = 1 << 20;
    private static final Pattern ARENA = Pattern.compile("lite\\.node\\.arena\\.size=(\\d+)MB");
    private static final Pattern DRAIN = Pattern.compile("lite\\.node\\.drain-timeout=(\\d+)s");
    private static final Pattern HEAP = Pattern.compile("-Xmx(\\d+)m");

    @ParameterizedTest
    @FieldSource("SETS")
    void everySelectorIsPartOfTheLabelsOfItsPods(String valueSet) {
        List<KubernetesObject> objects = ValueSets.objects(valueSet);
        int count = 0;
        for (KubernetesObject object : objects) {
            if (object.pod() != null && !object.kind().equals("Pod")) {
                assertThat(podLabels(object).entrySet())
                        .as(object.toString())
                        .containsAll(
                                object.map("spec", "selector", "matchLabels").entrySet());
                count++;
            }
        }
        assertThat(count).isGreaterThanOrEqualTo(2);
        for (KubernetesObject object : objects) {
            switch (object.kind()) {
                case "Service" ->
                    assertThat(selected(objects, object.map("spec", "selector")))
                            .as(object.toString())
                            .hasSize(1);
                case "PodDisruptionBudget" ->
                    assertThat(selected(objects, object.map("spec", "selector", "matchLabels")))
                            .as(object.toString())
                            .hasSize(1);
                case "NetworkPolicy" ->
                    assertThat(selected(objects, object.map("spec", "podSelector", "matchLabels")))
                            .as(object.toString())
                            .hasSize(1);
                case "ServiceMonitor" ->
                    assertThat(objects.stream()
                                    .filter(service -> service.kind().equals("Service"))
                                    .filter(service -> service.map("metadata", "labels")
                                            .entrySet()
                                            .containsAll(object.map("spec", "selector", "matchLabels")
                                                    .entrySet())))
                            .as(object.toString())
                            .hasSize(1);
                default -> {}
            }
        }
    }

    private static Map<String, Object> podLabels(KubernetesObject object) {
        Map<String, Object> pod = object.pod();
        return pod == null ? Map.of() : map(pod, "metadata", "labels");
    }

    private static List<KubernetesObject> selected(List<KubernetesObject> objects, Map<String, Object> selector) {
        assertThat(selector).isNotEmpty();
        return objects.stream()
                .filter(object -> podLabels(object).entrySet().containsAll(selector.entrySet()))
                .toList();
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void everyPortThatIsNamedExistsInAContainer(String valueSet) {
        List<KubernetesObject> objects = ValueSets.objects(valueSet);
        for (KubernetesObject object : objects) {
            if (object.kind().equals("Service")) {
                KubernetesObject pods =
                        selected(objects, object.map("spec", "selector")).getFirst();
                for (Map<String, Object> port : list(object.map("spec"), "ports")) {
                    assertThat(portNames(pods)).as(object.toString()).contains(String.valueOf(port.get("targetPort")));
                }
            }
            if (object.kind().equals("NetworkPolicy")) {
                KubernetesObject pods = selected(objects, object.map("spec", "podSelector", "matchLabels"))
                        .getFirst();
                for (Map<String, Object> rule : list(object.map("spec"), "ingress")) {
                    for (Map<String, Object> port : list(rule, "ports")) {
                        if (port.get("port") instanceof String name) {
                            assertThat(portNames(pods)).as(object.toString()).contains(name);
                        }
                    }
                }
            }
            for (Map<String, Object> container : object.containers()) {
                for (String probe : List.of("startupProbe", "livenessProbe", "readinessProbe")) {
                    for (String action : List.of("httpGet", "tcpSocket")) {
                        Object port = map(container, probe, action).get("port");
                        if (port != null) {
                            assertThat(portNames(object))
                                    .as(object + " " + probe)
                                    .contains(String.valueOf(port));
                        }
                    }
                }
            }
        }
    }

    private static Set<String> portNames(KubernetesObject object) {
        Set<String> names = new HashSet<>();
        Set<Object> numbers = new HashSet<>();
        for (Map<String, Object> container : object.containers()) {
            for (Map<String, Object> port : list(container, "ports")) {
                assertThat(names.add(String.valueOf(port.get("name")))).isTrue();
                assertThat(numbers.add(port.get("containerPort"))).isTrue();
            }
        }
        return names;
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void exactlyTheDeclaredVolumesAreMounted(String valueSet) {
        for (KubernetesObject object : ValueSets.objects(valueSet)) {
            Map<String, Object> pod = object.pod();
            if (pod != null) {
                Set<Object> declared = new HashSet<>();
                list(map(pod, "spec"), "volumes").forEach(volume -> declared.add(volume.get("name")));
                list(object.map("spec"), "volumeClaimTemplates")
                        .forEach(claim -> declared.add(map(claim, "metadata").get("name")));
                Set<Object> mounted = new HashSet<>();
                for (Map<String, Object> container : object.containers()) {
                    Set<Object> paths = new HashSet<>();
                    for (Map<String, Object> mount : list(container, "volumeMounts")) {
                        mounted.add(mount.get("name"));
                        assertThat(paths.add(mount.get("mountPath")))
                                .as(object.toString())
                                .isTrue();
                    }
                }
                assertThat(mounted).as(object.toString()).isEqualTo(declared);
            }
        }
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void everyConfigMapAndAccountThatAPodUsesIsInTheRelease(String valueSet) {
        List<KubernetesObject> objects = ValueSets.objects(valueSet);
        Set<String> present = new HashSet<>();
        objects.forEach(object -> assertThat(present.add(object.toString()))
                .as(object + " is there once")
                .isTrue());
        for (KubernetesObject object : objects) {
            Map<String, Object> pod = object.pod();
            if (pod != null) {
                assertThat(present)
                        .contains("ServiceAccount " + map(pod, "spec").get("serviceAccountName"));
                for (Map<String, Object> volume : list(map(pod, "spec"), "volumes")) {
                    Object name = map(volume, "configMap").get("name");
                    if (name != null) {
                        assertThat(present).as(object.toString()).contains("ConfigMap " + name);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void hooksAndDrainsEndBeforeTheGracePeriodDoes(String valueSet) {
        for (KubernetesObject object : ValueSets.objects(valueSet)) {
            Map<String, Object> pod = object.pod();
            if (pod == null || object.kind().equals("Pod")) {
                continue;
            }
            long graceSeconds = number(map(pod, "spec").get("terminationGracePeriodSeconds"));
            for (Map<String, Object> container : object.containers()) {
                Map<String, Object> hook = map(container, "lifecycle", "preStop");
                if (!hook.isEmpty()) {
                    // After the hook, the process ends in up to two phases of ten seconds.
                    assertThat(seconds(hook) + 20).as(object.toString()).isLessThan(graceSeconds);
                }
            }
            if (object.kind().equals("DaemonSet")) {
                long drainSeconds = number(DRAIN, configuration(ValueSets.objects(valueSet), object));
                Map<String, Object> hook = map(object.containers().getLast(), "lifecycle", "preStop");
                assertThat(hook.isEmpty()).isEqualTo(drainSeconds == 0);
                assertThat(hook.isEmpty() ? Long.MAX_VALUE : seconds(hook))
                        .as(object.toString())
                        .isGreaterThan(drainSeconds);
                // Without the hook, the node drains on SIGTERM.
                assertThat(drainSeconds + 20).isLessThan(graceSeconds);
            }
        }
    }

    /** How long a hook takes at most: its last argument, or its sleep. */
    private static long seconds(Map<String, Object> hook) {
        assertThat(hook.keySet()).hasSize(1).isSubsetOf("sleep", "exec");
        if (hook.containsKey("sleep")) {
            return number(map(hook, "sleep").get("seconds"));
        }
        List<?> command = (List<?>) Objects.requireNonNull(map(hook, "exec").get("command"));
        return Long.parseLong(String.valueOf(command.getLast()));
    }

    @Test
    void theHookCallsTheNodesOwnPortAndGoesWithTheDrain() {
        KubernetesObject nodes = ValueSets.object(
                Chart.render("lite", "plain", Map.of("node.drainSeconds", "7", "node.ports.management", "9000")),
                "DaemonSet",
                "-node");
        assertThat(map(nodes.containers().getLast(), "lifecycle", "preStop", "exec")
                        .get("command"))
                .isEqualTo(List.of("/opt/lite/bin/drain", "http://127.0.0.1:9000/actuator/litedrain", "17"));
        assertThat(nodes.map("spec", "template", "spec").get("terminationGracePeriodSeconds"))
                .isEqualTo(52);
        KubernetesObject without =
                ValueSets.object(Chart.render("lite", "plain", Map.of("node.drainSeconds", "0")), "DaemonSet", "-node");
        assertThat(without.containers().getLast()).doesNotContainKey("lifecycle");
    }

    private static String configuration(List<KubernetesObject> objects, KubernetesObject ofPods) {
        return String.valueOf(ValueSets.object(objects, "ConfigMap", ofPods.name())
                .map("data")
                .get("application.properties"));
    }

    private static long number(@Nullable Object value) {
        return ((Number) Objects.requireNonNull(value)).longValue();
    }

    private static long number(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        assertThat(matcher.find()).as(pattern + " in " + text).isTrue();
        return Long.parseLong(matcher.group(1));
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void theArenaAndTheHeapFitIntoTheMemoryOfTheNode(String valueSet) {
        List<KubernetesObject> objects = ValueSets.objects(valueSet);
        for (KubernetesObject object : objects) {
            if (!object.kind().equals("DaemonSet")) {
                continue;
            }
            Map<String, Object> node = object.containers().getLast();
            Map<String, Object> limits = map(node, "resources", "limits");
            Map<String, Object> requests = map(node, "resources", "requests");
            long arena = number(ARENA, configuration(objects, object));
            long heap = number(HEAP, environment(node).getOrDefault("JDK_JAVA_OPTIONS", ""));
            assertThat(requests.get("memory")).isEqualTo(limits.get("memory"));
            Object hugePages = limits.get("hugepages-2Mi");
            if (hugePages == null) {
                assertThat(mebibytes(limits.get("memory"))).isGreaterThanOrEqualTo(arena + heap + 64);
            } else {
                assertThat(requests.get("hugepages-2Mi")).isEqualTo(hugePages);
                assertThat(mebibytes(hugePages)).isEqualTo(arena);
                assertThat(mebibytes(limits.get("memory"))).isGreaterThanOrEqualTo(heap + 64);
            }
            Map<String, Object> volume = list(object.map("spec", "template", "spec"), "volumes").stream()
                    .filter(candidate -> "arena".equals(candidate.get("name")))
                    .findFirst()
                    .orElseThrow();
            Object limit = map(volume, "emptyDir").get("sizeLimit");
            if (limit != null) {
                assertThat(mebibytes(limit)).isGreaterThan(arena);
            }
        }
    }

    private static long mebibytes(@Nullable Object quantity) {
        String text = String.valueOf(quantity);
        long factor = text.endsWith("Gi") ? 1024 : 1;
        return Long.parseLong(text.substring(0, text.length() - 2)) * factor;
    }

    /** The variables of a container that have a value of their own. */
    static Map<String, String> environment(Map<String, Object> container) {
        Map<String, String> values = new HashMap<>();
        for (Map<String, Object> variable : list(container, "env")) {
            values.put(String.valueOf(variable.get("name")), String.valueOf(variable.get("value")));
        }
        return values;
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void everyContainerHasLimitsAndNoMoreRightsThanItNeeds(String valueSet) {
        for (KubernetesObject object : ValueSets.objects(valueSet)) {
            Map<String, Object> pod = object.pod();
            if (pod == null) {
                continue;
            }
            assertThat(map(pod, "spec").get("automountServiceAccountToken")).isEqualTo(false);
            assertThat(map(pod, "spec", "securityContext", "seccompProfile").get("type"))
                    .isEqualTo("RuntimeDefault");
            for (Map<String, Object> container : object.containers()) {
                String where = object + " " + container.get("name");
                assertThat(map(container, "resources", "limits")).as(where).containsKey("memory");
                Map<String, Object> security = map(container, "securityContext");
                assertThat(security).as(where).containsEntry("allowPrivilegeEscalation", false);
                assertThat(map(security, "capabilities").get("drop")).as(where).isEqualTo(List.of("ALL"));
                boolean isNodesOwn = object.kind().equals("DaemonSet");
                if (!isNodesOwn) {
                    assertThat(map(security, "capabilities")).as(where).doesNotContainKey("add");
                    assertThat(map(pod, "spec", "securityContext").get("runAsNonRoot"))
                            .as(where)
                            .isEqualTo(true);
                }
            }
            if (!object.kind().equals("DaemonSet") && !object.name().contains("-sample-")) {
                assertThat(list(map(pod, "spec"), "volumes"))
                        .as(object + " is for the policy restricted")
                        .noneMatch(volume -> volume.containsKey("hostPath"));
            }
        }
    }

    @Test
    void onlyRdmaMakesANodeRootWithOneCapability() {
        Map<String, Object> plain = ValueSets.object(ValueSets.objects("plain"), "DaemonSet", "-node")
                .containers()
                .getLast();
        assertThat(map(plain, "securityContext", "capabilities")).doesNotContainKey("add");
        KubernetesObject rdma = ValueSets.object(ValueSets.objects("rdma"), "DaemonSet", "-node");
        assertThat(map(rdma.containers().getLast(), "securityContext", "capabilities")
                        .get("add"))
                .isEqualTo(List.of("IPC_LOCK"));
        assertThat(map(rdma.containers().getLast(), "resources", "limits"))
                .containsEntry("rdma/hca_shared_devices_b", "1");
        assertThat(rdma.map("spec", "template", "spec", "securityContext")).containsEntry("runAsUser", 0);
        // A raised limit of the host needs neither.
        KubernetesObject raised = ValueSets.object(ValueSets.objects("everything"), "DaemonSet", "-node");
        assertThat(raised.map("spec", "template", "spec", "securityContext")).containsEntry("runAsNonRoot", true);
        assertThat(map(raised.containers().getLast(), "securityContext", "capabilities"))
                .doesNotContainKey("add");
    }

    /** A user that the socket's mode admits must also be able to enter its directory. Only the node may enter the arena's. */
    @ParameterizedTest
    @CsvSource({"plain, 660, false", "everything, 666, true"})
    void othersReachTheSocketIfItsModeAdmitsThem(String valueSet, String mode, boolean isOpen) {
        List<KubernetesObject> objects = ValueSets.objects(valueSet);
        KubernetesObject nodes = ValueSets.object(objects, "DaemonSet", "-node");
        assertThat(configuration(objects, nodes)).contains("lite.node.socket-mode=" + mode + "\n");
        List<String> command = list(nodes.map("spec", "template", "spec"), "initContainers").stream()
                .flatMap(container -> ((List<?>) Objects.requireNonNull(container.get("command"))).stream())
                .map(String::valueOf)
                .toList();
        assertThat(command).endsWith("/run/lite", "/var/lib/lite/arena");
        assertThat(command.get(2)).contains("chmod 0750 \"$directory\"");
        assertThat(command.get(2).contains("chmod 0755 /run/lite")).isEqualTo(isOpen);
        assertThat(command.get(2)).doesNotContain("0755 /var", "0755 \"");
    }

    @Test
    void prometheusReadsTheManagersWithTheCertificateOfTheirRestInterface() {
        KubernetesObject monitor = ValueSets.object(ValueSets.objects("everything"), "ServiceMonitor", "-manager");
        Map<String, Object> endpoint = list(monitor.map("spec"), "endpoints").getFirst();
        assertThat(endpoint).containsEntry("scheme", "https");
        assertThat(map(endpoint, "tlsConfig")).containsEntry("serverName", "lite-manager");
        KubernetesObject certificate = ValueSets.object(ValueSets.objects("everything"), "Certificate", "lite");
        assertThat(String.valueOf(certificate.map("spec").get("dnsNames"))).contains("[lite-manager, ");
        assertThat(map(endpoint, "tlsConfig", "ca", "secret"))
                .containsEntry("name", certificate.map("spec").get("secretName"));
    }

    /** Without a group of its own, a file of a Secret belongs to root and its group. */
    @ParameterizedTest
    @FieldSource("SETS")
    void everyUserMayReadTheSecretsOfItsPod(String valueSet) {
        int count = 0;
        for (KubernetesObject object : ValueSets.objects(valueSet)) {
            Map<String, Object> pod = object.pod();
            Map<String, Object> security = pod == null ? Map.of() : map(pod, "spec", "securityContext");
            if (pod == null || Integer.valueOf(0).equals(security.get("runAsUser"))) {
                continue;
            }
            for (Map<String, Object> volume : list(map(pod, "spec"), "volumes")) {
                if (volume.containsKey("secret")) {
                    assertThat(security).as(object + " " + volume.get("name")).containsKey("fsGroup");
                    count++;
                }
            }
        }
        assertThat(count).isPositive();
    }

    @Test
    void principalsHaveTheirNamesAndTokensTheirRoles() {
        Map<String, String> node = environment(ValueSets.object(ValueSets.objects("hardened"), "DaemonSet", "-node")
                .containers()
                .getLast());
        assertThat(node)
                .containsEntry("LITE_NODE_PRINCIPALS_0_NAMES_0", "shop/**")
                .containsEntry("LITE_NODE_PRINCIPALS_0_MAY_CALL_0", "prices/*")
                .containsEntry("LITE_NODE_PRINCIPALS_1_MAY_CREATE_0", "prices/**")
                .containsEntry("LITE_NODE_PRINCIPALS_1_MAY_CREATE_1", "shop/prices")
                .containsEntry("LITE_NODE_PRINCIPALS_1_MAY_SERVE_0", "prices/*");
        Map<String, Object> manager = ValueSets.object(ValueSets.objects("everything"), "Deployment", "-manager")
                .containers()
                .getLast();
        assertThat(environment(manager))
                .containsEntry("LITE_MANAGER_TOKENS_0_NAME", "dashboard")
                .containsEntry("LITE_MANAGER_TOKENS_0_ROLE", "reader");
        Map<String, Object> hash = list(manager, "env").stream()
                .filter(variable -> "LITE_MANAGER_TOKENS_0_SHA256".equals(variable.get("name")))
                .findFirst()
                .orElseThrow();
        assertThat(map(hash, "valueFrom", "secretKeyRef")).isEqualTo(Map.of("name", "lite-tokens", "key", "dashboard"));
    }

    /** A container that ends is started again, ever later unless it ran for ten minutes. With a quote in each millisecond: */
    @Test
    void theViewersOfTheSampleRunForMoreThanTenMinutes() {
        KubernetesObject viewers = ValueSets.object(ValueSets.objects("everything"), "Deployment", "-sample-viewer");
        String quotes =
                environment(viewers.containers().getLast()).getOrDefault("PRICEBOARD_QUOTES", "the sample's default");
        assertThat(quotes).containsOnlyDigits();
        assertThat(Duration.ofMillis(Long.parseLong(quotes))).isGreaterThan(Duration.ofMinutes(10));
    }

    @Test
    void anUpgradeEndsThePublisherOfTheSampleBeforeItStartsAnother() {
        KubernetesObject publisher =
                ValueSets.object(ValueSets.objects("everything"), "Deployment", "-sample-publisher");
        assertThat(publisher.map("spec", "strategy")).containsEntry("type", "Recreate");
    }

    @Test
    void twoReleasesShareNothingOnAHostOrInZooKeeper() {
        List<Set<Object>> used = new ArrayList<>();
        for (String release : List.of("one", "two")) {
            List<KubernetesObject> objects = Chart.render(release, "side-by-side");
            KubernetesObject nodes = ValueSets.object(objects, "DaemonSet", "-node");
            Set<Object> own = new HashSet<>();
            list(nodes.map("spec", "template", "spec"), "volumes").stream()
                    .map(volume -> map(volume, "hostPath").get("path"))
                    .filter(path -> path != null)
                    .forEach(own::add);
            configuration(objects, nodes)
                    .lines()
                    .filter(line -> line.startsWith("lite.cluster.name="))
                    .forEach(own::add);
            objects.forEach(object -> own.add(object.toString()));
            assertThat(own).contains("lite.cluster.name=shop." + release, "/run/lite/shop/" + release);
            used.add(own);
        }
        assertThat(used.getFirst()).doesNotContainAnyElementsOf(used.getLast());
    }

    @Test
    void aChangedConfigurationRestartsThePods() {
        Map<String, Object> before = ValueSets.object(Chart.render("lite", "plain"), "DaemonSet", "-node")
                .map("spec", "template", "metadata", "annotations");
        Map<String, Object> after = ValueSets.object(
                        Chart.render("lite", "plain", Map.of("node.drainSeconds", "61")), "DaemonSet", "-node")
                .map("spec", "template", "metadata", "annotations");
        assertThat(after.get("checksum/config")).isNotEqualTo(before.get("checksum/config"));
    }

    @Test
    void bytesOfASizeAreThoseOfKubernetes() {
        assertThat(mebibytes("2Gi") * MEBIBYTE).isEqualTo(2L << 30);
        String configuration = configuration(
                ValueSets.objects("rdma"), ValueSets.object(ValueSets.objects("rdma"), "DaemonSet", "-node"));
        assertThat(configuration).contains("lite.node.arena.size=8192MB\n");
    }
}
