package dev.lite.helm;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * An object of the rendered chart.
 *
 * @param content its YAML
 */
record KubernetesObject(Map<String, Object> content) {

    /** The objects of a rendered chart; empty documents are not objects. */
    static List<KubernetesObject> parse(String rendered) {
        List<KubernetesObject> objects = new ArrayList<>();
        LoaderOptions options = new LoaderOptions();
        options.setAllowDuplicateKeys(false);
        for (Object document : new Yaml(new SafeConstructor(options)).loadAll(rendered)) {
            if (document != null) {
                objects.add(new KubernetesObject(asMap(document)));
            }
        }
        return objects;
    }

    String kind() {
        return String.valueOf(content.get("kind"));
    }

    String name() {
        return String.valueOf(map("metadata").get("name"));
    }

    /** The map at a path; empty if it is missing. */
    Map<String, Object> map(String... path) {
        return map(content, path);
    }

    /** The pod that this object is, or creates; null if it is about something else. */
    @Nullable
    Map<String, Object> pod() {
        return switch (kind()) {
            case "Pod" -> content;
            case "DaemonSet", "Deployment", "StatefulSet" -> map("spec", "template");
            default -> null;
        };
    }

    /** The containers of {@link #pod}, with the initial ones. */
    List<Map<String, Object>> containers() {
        Map<String, Object> pod = pod();
        List<Map<String, Object>> containers = new ArrayList<>();
        if (pod != null) {
            containers.addAll(list(map(pod, "spec"), "initContainers"));
            containers.addAll(list(map(pod, "spec"), "containers"));
        }
        return containers;
    }

    static Map<String, Object> map(Map<String, Object> from, String... path) {
        Map<String, Object> current = from;
        for (String step : path) {
            Object next = current.get(step);
            if (next == null) {
                return Map.of();
            }
            current = asMap(next);
        }
        return current;
    }

    /** The list of maps below a key; empty if it is missing. */
    static List<Map<String, Object>> list(Map<String, Object> from, String key) {
        Object found = from.get(key);
        List<Map<String, Object>> all = new ArrayList<>();
        if (found != null) {
            for (Object element : (Iterable<?>) found) {
                all.add(asMap(element));
            }
        }
        return all;
    }

    static Map<String, Object> asMap(Object value) {
        Map<String, Object> map = new LinkedHashMap<>();
        ((Map<?, ?>) value).forEach((key, element) -> map.put(String.valueOf(key), element));
        return map;
    }

    @Override
    public String toString() {
        return kind() + " " + name();
    }
}
