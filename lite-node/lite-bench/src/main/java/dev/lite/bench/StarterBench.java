package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.observe.LiteMetrics;
import dev.lite.boot.observe.LiteMetricsAutoConfiguration;
import dev.lite.boot.resilience.LiteResilienceAutoConfiguration;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/**
 * What the starter's metrics and Resilience4j cost: a 64 B read through the handle of an application with them, against one of an
 * application with the starter alone. Each application has a session of its own; all read the same LMR, at the same node.
 *
 * <p>The rows {@code plain} compare two applications with the starter alone: their ratio shows the noise of the run.
 */
final class StarterBench implements BenchMain.Benchmark {
    private static final int BYTES = 64;
    private static final int WINDOW_BYTES = 4096;
    private static final String LMR = "starter";
    private static final String[] PATTERNS = {"circuit-breaker", "retry", "bulkhead", "rate-limiter"};

    /** What an application has beside the starter. */
    private enum Extra {
        PLAIN,
        METRICS,
        RESILIENCE,
        /** On the class path, with every pattern disabled. */
        RESILIENCE_OFF
    }

    @Override
    public void run(BenchReport report) {
        report.note("raw: the starter without metrics and Resilience4j; plain: itself, in another session");
        Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
        try (BenchNodes nodes = new BenchNodes(1, 64 << 20);
                SessionServer server = new SessionServer(SessionServerConfig.of(sockets.resolve("s")), nodes.node(0));
                Lite owner = nodes.attach(0);
                LmrHandle lmr = owner.memory()
                        .malloc(LmrSpec.of(WINDOW_BYTES).withName(LMR).withDefaultPermissions(Permission.READ))) {
            server.start();
            compare(report, "embedded", () -> nodes.attach(0), lmr.size());
            AttachOptions options = AttachOptions.to(server.socket(), "bench").withReattach(true);
            compare(report, "attached", () -> Lite.attach(options), lmr.size());
        } finally {
            BenchNodes.delete(sockets);
        }
    }

    private static void compare(BenchReport report, String how, Supplier<Lite> sessions, long bytes) {
        List<AnnotationConfigApplicationContext> contexts = new ArrayList<>();
        try (Arena scope = Arena.ofConfined()) {
            MemorySegment local = scope.allocate(BYTES, BYTES);
            LmrHandle plain = handle(contexts, Extra.PLAIN, sessions);
            for (Extra extra : new Extra[] {Extra.PLAIN, Extra.RESILIENCE_OFF, Extra.METRICS, Extra.RESILIENCE}) {
                LmrHandle handle = handle(contexts, extra, sessions);
                // An attached application's node polls for a while after a command.
                Comparison.Result read = how.equals("attached")
                        ? Comparison.measureServed(
                                n -> read(handle, local, bytes, n), n -> read(plain, local, bytes, n))
                        : Comparison.measure(n -> read(handle, local, bytes, n), n -> read(plain, local, bytes, n));
                String name = extra.name().toLowerCase(Locale.ROOT).replace('_', '-');
                report.add(how + "-read-" + name, BYTES, "ns", read.oursNs(), read.rawNs());
            }
        } finally {
            contexts.reversed().forEach(AnnotationConfigApplicationContext::close);
        }
    }

    private static void read(LmrHandle handle, MemorySegment local, long bytes, int n) {
        for (int i = 0; i < n; i++) {
            handle.read((long) i * BYTES & (bytes - 1), local);
        }
    }

    /** Starts an application and maps the LMR in it. */
    private static LmrHandle handle(
            List<AnnotationConfigApplicationContext> contexts, Extra extra, Supplier<Lite> sessions) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        contexts.add(context);
        context.registerBean(Lite.class, sessions);
        if (extra == Extra.METRICS) {
            context.registerBean(MeterRegistry.class, SimpleMeterRegistry::new);
        }
        if (extra == Extra.RESILIENCE || extra == Extra.RESILIENCE_OFF) {
            Map<String, Object> properties = new HashMap<>();
            for (String pattern : PATTERNS) {
                properties.put("lite.client.resilience." + pattern + ".enabled", extra == Extra.RESILIENCE);
            }
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("bench", properties));
            context.register(LiteResilienceAutoConfiguration.class);
        }
        context.register(LiteClientAutoConfiguration.class, LiteMetricsAutoConfiguration.class);
        context.refresh();
        if (extra == Extra.METRICS) {
            context.getBean(LiteMetrics.class).bindTo(context.getBean(MeterRegistry.class)); // as Boot does
        }
        return context.getBean(LtMemory.class).map(LMR, Permission.READ);
    }
}
