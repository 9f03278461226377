package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import com.marcnuri.helm.LintResult;
import io.fabric8.certmanager.api.model.v1.Certificate;
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
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.cfg.MapperConfig;
import tools.jackson.databind.introspect.Annotated;
import tools.jackson.databind.introspect.AnnotatedClass;
import tools.jackson.databind.introspect.JacksonAnnotationIntrospector;
import tools.jackson.databind.json.JsonMapper;

/** Helm accepts the chart, and Kubernetes knows every field of its objects. */
class ChartObjectsTest {
    static final List<String> SETS = Chart.VALUE_SETS;

    private static final JsonMapper JSON = JsonMapper.builder()
            .annotationIntrospector(new CustomResources())
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .build();

    /**
     * The models of custom resources are of an older version, whose annotations this Jackson does not know. They say that a class is
     * read by its fields, not by the kind that its content names.
     */
    private static final class CustomResources extends JacksonAnnotationIntrospector {
        private static final long serialVersionUID = 1L;

        @Override
        public @Nullable Object findDeserializer(MapperConfig<?> config, Annotated annotated) {
            String name = annotated.getRawType().getName();
            boolean isCustom = name.startsWith("io.fabric8.openshift.") || name.startsWith("io.fabric8.certmanager.");
            return annotated instanceof AnnotatedClass && isCustom ? null : super.findDeserializer(config, annotated);
        }
    }

    private static final Map<String, Class<? extends KubernetesResource>> KINDS = Map.ofEntries(
            Map.entry("v1 ConfigMap", ConfigMap.class),
            Map.entry("v1 Pod", Pod.class),
            Map.entry("v1 Service", Service.class),
            Map.entry("v1 ServiceAccount", ServiceAccount.class),
            Map.entry("apps/v1 DaemonSet", DaemonSet.class),
            Map.entry("apps/v1 Deployment", Deployment.class),
            Map.entry("apps/v1 StatefulSet", StatefulSet.class),
            Map.entry("networking.k8s.io/v1 NetworkPolicy", NetworkPolicy.class),
            Map.entry("policy/v1 PodDisruptionBudget", PodDisruptionBudget.class),
            Map.entry("monitoring.coreos.com/v1 ServiceMonitor", ServiceMonitor.class),
            Map.entry("monitoring.coreos.com/v1 PrometheusRule", PrometheusRule.class),
            Map.entry("cert-manager.io/v1 Certificate", Certificate.class));

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
            Class<? extends KubernetesResource> model = KINDS.get(kind);
            assertThat(model).as(kind).isNotNull();
            assertThat(unknown(object, model)).as(object.toString()).isEmpty();
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

    @Test
    void aMisspeltFieldOfACustomResourceIsFound() {
        List<KubernetesObject> objects = KubernetesObject.parse("""
                apiVersion: monitoring.coreos.com/v1
                kind: ServiceMonitor
                metadata: {name: a}
                spec:
                  selector: {matchLabel: {}}
                  endpoints:
                    - port: management
                      authorisation: {}
                ---
                apiVersion: monitoring.coreos.com/v1
                kind: PrometheusRule
                metadata: {name: a}
                spec: {groups: [{name: a, rules: [{alert: A, expr: up, fore: 1m}]}]}
                ---
                apiVersion: cert-manager.io/v1
                kind: Certificate
                metadata: {name: a}
                spec: {privateKey: {encodings: PKCS8}}
                """);
        assertThat(unknown(objects.get(0), ServiceMonitor.class))
                .containsExactlyInAnyOrder("matchLabel", "authorisation");
        assertThat(unknown(objects.get(1), PrometheusRule.class)).containsExactly("fore");
        assertThat(unknown(objects.get(2), Certificate.class)).containsExactly("encodings");
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
