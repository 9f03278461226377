package dev.lite.helm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The objects of all sets of values, each rendered once. Any thread. */
final class ValueSets {
    private static final Map<String, List<KubernetesObject>> RENDERED = new ConcurrentHashMap<>();

    private ValueSets() {}

    /** The objects of one set; of two releases for the set of two. */
    static List<KubernetesObject> objects(String valueSet) {
        return RENDERED.computeIfAbsent(valueSet, ValueSets::render);
    }

    private static List<KubernetesObject> render(String valueSet) {
        if (!valueSet.equals("side-by-side")) {
            return Chart.render("lite", valueSet);
        }
        List<KubernetesObject> both = new ArrayList<>(Chart.render("one", valueSet));
        both.addAll(Chart.render("two", valueSet));
        return both;
    }

    /** The only object of this kind whose name ends so. */
    static KubernetesObject object(List<KubernetesObject> objects, String kind, String nameEnd) {
        List<KubernetesObject> found = objects.stream()
                .filter(object -> object.kind().equals(kind) && object.name().endsWith(nameEnd))
                .toList();
        if (found.size() != 1) {
            throw new AssertionError("%d objects %s …%s: %s".formatted(found.size(), kind, nameEnd, found));
        }
        return found.getFirst();
    }
}
