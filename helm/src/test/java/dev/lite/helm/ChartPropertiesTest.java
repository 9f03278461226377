package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Every property and every variable that the chart sets is one of the application that gets it. */
class ChartPropertiesTest {
    static final List<String> SETS = Chart.VALUE_SETS;

    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** Variables of the JVM, the C library, the sample and ZooKeeper's image. */
    private static final Set<String> OTHERS = Set.of(
            "JDK_JAVA_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "TZ",
            "PRICEBOARD_QUOTES",
            "JVMFLAGS",
            "ZOO_SERVERS",
            "ZOO_STANDALONE_ENABLED",
            "ZOO_AUTOPURGE_PURGEINTERVAL",
            "ZOO_ADMINSERVER_ENABLED");

    private static final Names NODE = Names.ofApplication("lite-node/lite-node-app");
    private static final Names MANAGER = Names.ofApplication("lite-manager/lite-manager-app");

    @ParameterizedTest
    @FieldSource("SETS")
    void everyPropertyIsInTheMetadata(String valueSet) throws IOException {
        int count = 0;
        for (KubernetesObject object : ValueSets.objects(valueSet)) {
            Object text = object.map("data").get("application.properties");
            if (text != null) {
                Properties properties = new Properties();
                properties.load(new StringReader(text.toString()));
                Names names = object.name().endsWith("-node") ? NODE : MANAGER;
                for (String name : properties.stringPropertyNames()) {
                    assertThat(names.isProperty(name))
                            .as("%s: %s", object, name)
                            .isTrue();
                    assertThat(properties.getProperty(name)).as(name).isNotBlank();
                    count++;
                }
            }
        }
        assertThat(count).isGreaterThan(20);
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void everyVariableIsAPropertyOrOfAnother(String valueSet) {
        Names sample = Names.ofApplication("lite-starter/lite-spring-boot").with(NODE);
        int count = 0;
        for (KubernetesObject object : ValueSets.objects(valueSet)) {
            for (Map<String, Object> container : object.containers()) {
                for (String name : ChartCrossChecksTest.environment(container).keySet()) {
                    if (OTHERS.contains(name)) {
                        continue;
                    }
                    count++;
                    boolean isKnown = switch (String.valueOf(container.get("name"))) {
                        case "node" -> NODE.isVariable(name);
                        case "manager" -> MANAGER.isVariable(name);
                        case "publisher", "viewer" -> sample.isVariable(name);
                        // The command line's.
                        case "status" -> Set.of("LITE_MANAGER", "LITE_TOKEN").contains(name);
                        default -> false;
                    };
                    assertThat(isKnown).as("%s %s", object, name).isTrue();
                }
            }
        }
        assertThat(count).isGreaterThan(8);
    }

    /** Helm reads the numbers of a file as floating-point ones. */
    @Test
    void aLargeNumberOfAFileIsNotWrittenWithAnExponent(@TempDir Path temporary) throws IOException {
        Path values = Files.writeString(temporary.resolve("values.yaml"), """
                zookeeper: {connect: "zk:2181"}
                node:
                  properties:
                    lite.node.limits.handles: 4000000
                    lite.node.tcp.lanes: 4
                    lite.node.tcp.protection: none
                    lite.node.tcp.verify-names: true
                """);
        assertThat(Chart.text(Chart.DIRECTORY, "lite", values, Map.of()))
                .contains("    lite.node.limits.handles=4000000\n")
                .contains("    lite.node.tcp.lanes=4\n")
                .contains("    lite.node.tcp.protection=none\n")
                .contains("    lite.node.tcp.verify-names=true\n");
    }

    /** For Java a backslash is an escape, leading spaces and further lines are no value, and bytes are ISO-8859-1. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "C:\\new\\table\\u",
                "ends with \\",
                "  two spaces ",
                "one\nlite.node.name=other\r\n\tx",
                "ä € ${HOME} \"q\" 'q'",
                "#=:! %d {{ x }}",
            })
    void aValueOfAPropertyIsReadAsItWasGiven(String value, @TempDir Path temporary) throws IOException {
        assertThat(propertyOfAFile(value, temporary)).isEqualTo(value);
    }

    @Test
    void aCharacterThatTheChartCannotWriteIsRefused(@TempDir Path temporary) {
        assertThatThrownBy(() -> propertyOfAFile("a\u0007", temporary))
                .hasMessageContaining("node.properties has spring.application.name with a control character");
    }

    private static String propertyOfAFile(String value, Path temporary) throws IOException {
        Map<String, Object> node = Map.of("properties", Map.of("spring.application.name", value));
        Path values = Files.writeString(
                temporary.resolve("values.json"),
                JSON.writeValueAsString(Map.of("zookeeper", Map.of("connect", "zk:2181"), "node", node)));
        String text = Chart.text(Chart.DIRECTORY, "lite", values, Map.of());
        Object file = KubernetesObject.parse(text).stream()
                .filter(object ->
                        object.kind().equals("ConfigMap") && object.name().endsWith("-node"))
                .findFirst()
                .orElseThrow()
                .map("data")
                .get("application.properties");
        Properties properties = new Properties();
        byte[] bytes = String.valueOf(file).getBytes(StandardCharsets.UTF_8);
        properties.load(new ByteArrayInputStream(bytes));
        assertThat(properties).doesNotContainKey("lite.node.name");
        return properties.getProperty("spring.application.name");
    }

    @Test
    void anUnknownNameIsFound() {
        assertThat(NODE.isProperty("lite.node.arena.size")).isTrue();
        assertThat(NODE.isProperty("lite.node.arena.sise")).isFalse();
        assertThat(NODE.isProperty("lite.manager.token")).isFalse();
        assertThat(NODE.isVariable("LITE_NODE_PRINCIPALS_0_UID")).isTrue();
        assertThat(NODE.isVariable("LITE_NODE_NAM")).isFalse();
    }

    /**
     * Names of properties.
     *
     * @param properties name → type
     */
    private record Names(Map<String, String> properties, Set<String> variables) {

        static Names ofApplication(String module) {
            Path target = Chart.ROOT.resolve(module).resolve("target");
            Names names = new Names(new java.util.HashMap<>(), new HashSet<>());
            Path own = target.resolve("classes/META-INF/spring-configuration-metadata.json");
            assertThat(own).as("build %s first", module).exists();
            names.add(Text.of(own));
            if (Files.isDirectory(target.resolve("extracted/lib"))) {
                try (Stream<Path> jars = Files.list(target.resolve("extracted/lib"))) {
                    jars.filter(jar -> jar.toString().endsWith(".jar")).forEach(names::addJar);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            return names;
        }

        Names with(Names other) {
            properties.putAll(other.properties);
            variables.addAll(other.variables);
            return this;
        }

        private void addJar(Path jar) {
            try (JarFile file = new JarFile(jar.toFile())) {
                ZipEntry entry = file.getEntry("META-INF/spring-configuration-metadata.json");
                if (entry != null) {
                    add(new String(file.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void add(String metadata) {
            for (JsonNode property : JSON.readTree(metadata).path("properties")) {
                String name = property.path("name").asString();
                properties.put(name, property.path("type").asString(""));
                variables.add(name.replace("-", "").replace('.', '_').toUpperCase(Locale.ROOT));
            }
        }

        boolean isProperty(String name) {
            if (properties.containsKey(name)) {
                return true;
            }
            // An entry of a map or an element of a list.
            List<String> above = new ArrayList<>();
            for (int end = name.length();
                    end > 0;
                    end = Math.max(name.lastIndexOf('.', end - 1), name.lastIndexOf('[', end - 1))) {
                above.add(name.substring(0, end));
            }
            return above.stream().anyMatch(prefix -> {
                String type = properties.getOrDefault(prefix, "");
                return type.startsWith("java.util.Map<") || type.startsWith("java.util.List<");
            });
        }

        /** Only in the form in which Spring Boot's documentation writes them: without dashes. */
        boolean isVariable(String name) {
            return variables.contains(name) || variables.contains(name.replaceFirst("_\\d+_.*", ""));
        }
    }
}
