package dev.lite.docs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The properties' metadata, as the modules' builds have written it. */
final class Metadata {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Pattern INDEX = Pattern.compile("\\[\\d+].*");

    private Metadata() {}

    /**
     * A property.
     *
     * @param type its Java type
     * @param defaultValue empty if there is none
     * @param description empty if there is none
     */
    record Property(String name, String type, String defaultValue, String description) {}

    /** The modules that have properties. */
    static final List<String> MODULES = List.of(
            "lite-starter/lite-spring-boot",
            "lite-node/lite-embedded",
            "lite-starter/lite-apps/lite-mr",
            "lite-manager/lite-process",
            "lite-manager/lite-manager-app",
            "lite-node/lite-node-app");

    /** The properties of a module, by their names. */
    static Map<String, Property> of(String module) {
        Path file =
                Repository.ROOT.resolve(module).resolve("target/classes/META-INF/spring-configuration-metadata.json");
        if (!Files.exists(file)) {
            throw new AssertionError(
                    "no metadata of properties; build the module %s first: %s".formatted(module, file));
        }
        Map<String, Property> properties = new TreeMap<>();
        for (JsonNode property : JSON.readTree(Repository.read(file)).path("properties")) {
            properties.put(
                    property.path("name").asString(),
                    new Property(
                            property.path("name").asString(),
                            property.path("type").asString(""),
                            defaultValue(property.path("defaultValue")),
                            property.path("description").asString("")));
        }
        return properties;
    }

    /** The properties of all modules, read at the first use. */
    private static final class All {
        static final Map<String, Property> PROPERTIES = new TreeMap<>();

        static {
            MODULES.forEach(module -> PROPERTIES.putAll(of(module)));
        }
    }

    private static String defaultValue(JsonNode value) {
        return switch (value.getNodeType()) {
            case MISSING, NULL -> "";
            case ARRAY -> {
                StringBuilder all = new StringBuilder();
                value.forEach(one -> all.append(all.isEmpty() ? "" : ",").append(one.asString()));
                yield all.toString();
            }
            default -> value.asString();
        };
    }

    /** Whether a name is the beginning of the names of properties. */
    static boolean isPrefix(String name) {
        return All.PROPERTIES.keySet().stream().anyMatch(property -> property.startsWith(name + "."));
    }

    /** Whether a name is that of a property of LITE; a list's element counts as the list. */
    static boolean isKnown(String name) {
        String list = INDEX.matcher(name).replaceFirst("");
        return All.PROPERTIES.containsKey(list);
    }
}
