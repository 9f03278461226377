package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import com.marcnuri.helm.LintResult;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.KubernetesResource;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceAccount;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Helm accepts the chart, and Kubernetes knows every field of its objects. */
class ChartObjectsTest {
    static final List<String> SETS = Chart.VALUE_SETS;

    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .build();

    private static final Map<String, Class<? extends KubernetesResource>> KINDS = Map.of(
            "v1 ConfigMap", ConfigMap.class,
            "v1 Pod", Pod.class,
            "v1 Service", Service.class,
            "v1 ServiceAccount", ServiceAccount.class,
            "apps/v1 DaemonSet", DaemonSet.class,
            "apps/v1 Deployment", Deployment.class,
            "apps/v1 StatefulSet", StatefulSet.class,
            "networking.k8s.io/v1 NetworkPolicy", NetworkPolicy.class,
            "policy/v1 PodDisruptionBudget", PodDisruptionBudget.class);

    /** The fields of other projects' objects that the chart uses, since no model of them is at hand. */
    private static final Map<String, Set<String>> CUSTOM_FIELDS = Map.of(
            "monitoring.coreos.com/v1 ServiceMonitor", Set.of("selector", "endpoints"),
            "monitoring.coreos.com/v1 PrometheusRule", Set.of("groups"),
            "cert-manager.io/v1 Certificate",
                    Set.of("secretName", "duration", "commonName", "dnsNames", "privateKey", "usages", "issuerRef"));

    @ParameterizedTest
    @FieldSource("SETS")
    void strictLintHasNothingToSay(String valueSet, @TempDir Path temporary) {
        LintResult result = Chart.lint(valueSet, temporary);
        assertThat(result.isFailed()).as(String.valueOf(result.getMessages())).isFalse();
        assertThat(result.getMessages()).noneMatch(message -> message.contains("WARNING") || message.contains("ERROR"));
    }

    @ParameterizedTest
    @FieldSource("SETS")
    void everyFieldOfEveryObjectIsInTheModel(String valueSet) {
        List<KubernetesObject> objects = ValueSets.objects(valueSet);
        assertThat(objects).hasSizeGreaterThanOrEqualTo(8);
        for (KubernetesObject object : objects) {
            String kind = object.content().get("apiVersion") + " " + object.kind();
            if (CUSTOM_FIELDS.containsKey(kind)) {
                assertThat(object.content().keySet())
                        .containsExactlyInAnyOrder("apiVersion", "kind", "metadata", "spec");
                assertThat(CUSTOM_FIELDS.get(kind))
                        .as(object.toString())
                        .containsAll(object.map("spec").keySet());
            } else {
                Class<? extends KubernetesResource> model = KINDS.get(kind);
                assertThat(model).as(kind).isNotNull();
                assertThat(unknown(object, model)).as(object.toString()).isEmpty();
            }
        }
    }

    @Test
    void aMisspeltFieldIsFound() {
        List<KubernetesObject> objects = KubernetesObject.parse("""
                apiVersion: apps/v1
                kind: Deployment
                metadata: {name: a}
                spec:
                  replica: 1
                  template:
                    spec:
                      containers:
                        - name: a
                          livenessprobe: {}
                """);
        assertThat(unknown(objects.getFirst(), Deployment.class)).containsExactlyInAnyOrder("livenessprobe", "replica");
    }

    /** The names that a model has kept as additional properties, anywhere in it. */
    private static List<String> unknown(KubernetesObject object, Class<? extends KubernetesResource> model) {
        List<String> unknown = new ArrayList<>();
        collect(JSON.convertValue(object.content(), model), unknown, new IdentityHashMap<>());
        return unknown;
    }

    private static void collect(@Nullable Object value, List<String> unknown, Map<Object, Boolean> seen) {
        if (value == null || seen.put(value, true) != null) {
            return;
        }
        if (value instanceof Collection<?> elements) {
            elements.forEach(element -> collect(element, unknown, seen));
        } else if (value instanceof Map<?, ?> map) {
            map.values().forEach(element -> collect(element, unknown, seen));
        } else if (value.getClass().getName().startsWith("io.fabric8.")) {
            for (Class<?> type = value.getClass(); type != Object.class; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())) {
                        Object content = read(field, value);
                        if (field.getName().equals("additionalProperties") && content instanceof Map<?, ?> names) {
                            names.keySet().forEach(name -> unknown.add(String.valueOf(name)));
                        }
                        collect(content, unknown, seen);
                    }
                }
            }
        }
    }

    private static @Nullable Object read(Field field, Object owner) {
        try {
            field.setAccessible(true);
            return field.get(owner);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }
}
