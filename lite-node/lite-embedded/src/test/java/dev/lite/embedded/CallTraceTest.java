package dev.lite.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.RpcFailedException;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteRpcAutoConfiguration;
import dev.lite.boot.LtRpcHandler;
import dev.lite.boot.LtRpcTemplate;
import dev.lite.testing.Waits;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler.FirstMatchingCompositeObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingSenderTracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelPropagator;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Two applications at two nodes, each with its own OpenTelemetry. */
class CallTraceTest {
    private static final long ARENA_BYTES = 16 << 20;

    private final EmbeddedCluster cluster = EmbeddedCluster.start(2, ARENA_BYTES);
    private final InMemorySpanExporter callers = InMemorySpanExporter.create();
    private final InMemorySpanExporter servers = InMemorySpanExporter.create();

    @AfterEach
    void stop() {
        cluster.close();
    }

    static class Handlers {
        @LtRpcHandler("shout")
        String shout(String text) {
            if (text.isEmpty()) {
                throw new IllegalArgumentException("nothing to shout");
            }
            return text + "!";
        }
    }

    private static ObservationRegistry traced(InMemorySpanExporter exporter) {
        SdkTracerProvider provider = SdkTracerProvider.builder()
                .addSpanProcessor(SimpleSpanProcessor.create(exporter))
                .build();
        Tracer otel = provider.get("test");
        OtelTracer tracer = new OtelTracer(otel, new OtelCurrentTraceContext(), event -> {});
        OtelPropagator propagator =
                new OtelPropagator(ContextPropagators.create(W3CTraceContextPropagator.getInstance()), otel);
        ObservationRegistry registry = ObservationRegistry.create();
        registry.observationConfig()
                .observationHandler(new FirstMatchingCompositeObservationHandler(
                        new PropagatingSenderTracingObservationHandler<>(tracer, propagator),
                        new PropagatingReceiverTracingObservationHandler<>(tracer, propagator),
                        new DefaultTracingObservationHandler(tracer)));
        return registry;
    }

    private ApplicationContextRunner application(int node, ObservationRegistry registry) {
        return new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteRpcAutoConfiguration.class))
                .withBean(Lite.class, () -> cluster.nodes().get(node).attach("application-" + node))
                .withBean(ObservationRegistry.class, () -> registry);
    }

    private static SpanData span(InMemorySpanExporter exporter, String name) {
        Waits.until(
                "the span \"%s\" has ended".formatted(name),
                () -> exporter.getFinishedSpanItems().stream()
                        .anyMatch(span -> span.getName().equals(name)));
        return exporter.getFinishedSpanItems().stream()
                .filter(span -> span.getName().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static String attribute(SpanData span, String key) {
        return String.valueOf(span.getAttributes().get(AttributeKey.stringKey(key)));
    }

    @Test
    void aTraceGoesFromTheCallerToTheHandlerThroughTheNodes() {
        ObservationRegistry registry = traced(callers);
        application(1, traced(servers))
                .withBean(Handlers.class)
                .run(server -> application(0, registry).run(caller -> {
                    LtRpcTemplate template = caller.getBean(LtRpcTemplate.class);
                    Observation request = Observation.start("request", registry);
                    request.scoped(() -> assertThat(template.call("node-2", "shout", "tea", String.class))
                            .isEqualTo("tea!"));
                    request.stop();

                    SpanData outer = span(callers, "request");
                    SpanData call = span(callers, "call shout");
                    SpanData handled = span(servers, "handle shout");
                    assertThat(call.getTraceId()).isEqualTo(outer.getTraceId());
                    assertThat(call.getParentSpanId()).isEqualTo(outer.getSpanId());
                    assertThat(call.getKind()).isEqualTo(SpanKind.CLIENT);
                    assertThat(attribute(call, "node")).isEqualTo("node-2");
                    assertThat(attribute(call, "outcome")).isEqualTo("success");
                    assertThat(handled.getTraceId()).isEqualTo(outer.getTraceId());
                    assertThat(handled.getParentSpanId()).isEqualTo(call.getSpanId());
                    assertThat(handled.getKind()).isEqualTo(SpanKind.SERVER);
                }));
    }

    @Test
    void anAsynchronousCallBelongsToTheTraceOfItsStart() {
        ObservationRegistry registry = traced(callers);
        application(1, traced(servers))
                .withBean(Handlers.class)
                .run(server -> application(0, registry).run(caller -> {
                    LtRpcTemplate template = caller.getBean(LtRpcTemplate.class);
                    Observation request = Observation.start("request", registry);
                    request.scoped(() -> assertThat(template.callAsync("node-2", "shout", "tea", String.class))
                            .succeedsWithin(Waits.seconds(20))
                            .isEqualTo("tea!"));
                    request.stop();
                    SpanData call = span(callers, "call shout");
                    assertThat(call.getParentSpanId())
                            .isEqualTo(span(callers, "request").getSpanId());
                    assertThat(span(servers, "handle shout").getParentSpanId()).isEqualTo(call.getSpanId());
                }));
    }

    @Test
    void aFailedCallSaysWhyOnBothSides() {
        application(1, traced(servers))
                .withBean(Handlers.class)
                .run(server -> application(0, traced(callers)).run(caller -> {
                    LtRpcTemplate template = caller.getBean(LtRpcTemplate.class);
                    assertThatThrownBy(() -> template.call("node-2", "shout", "", String.class))
                            .isInstanceOf(RpcFailedException.class);
                    SpanData call = span(callers, "call shout");
                    assertThat(call.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
                    assertThat(attribute(call, "outcome")).isEqualTo("handler_failed");
                    SpanData handled = span(servers, "handle shout");
                    assertThat(handled.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
                    assertThat(attribute(handled, "outcome")).isEqualTo("error");
                    assertThat(handled.getTraceId()).isEqualTo(call.getTraceId());
                }));
    }
}
