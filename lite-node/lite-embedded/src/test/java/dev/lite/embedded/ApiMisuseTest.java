package dev.lite.embedded;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.Permission;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.boot.LtRpcTemplate;
import dev.lite.embedded.MisuseValues.Bad;
import dev.lite.testing.Misuses;
import dev.lite.testing.Waits;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Generates misuses of the interface from its signatures, for each kind of session, and checks that each one ends with one clear message
 * and leaves everything as it was.
 */
class ApiMisuseTest {
    private static final Duration LIMIT = Waits.seconds(30);
    private static final Duration FREED = Waits.seconds(10);
    private static final Duration POLL = Duration.ofMillis(2);

    private final Misuses misuses = new Misuses("the interface");
    private final ExecutorService worker = Executors.newCachedThreadPool(
            Thread.ofPlatform().daemon().name("misuse").factory());

    @TempDir
    private Path directory;

    private MisuseCluster cluster;

    @BeforeEach
    void start() {
        cluster = new MisuseCluster(directory);
    }

    @AfterEach
    void stop() throws Exception {
        cluster.close();
        worker.shutdownNow();
    }

    /** What is misused: an object of the interface, in a state. */
    private record Subject(String kind, Class<?> api, Object target) {}

    @Test
    void everyMisuseOfAnEmbeddedSessionIsAnsweredWithOneClearMessage() {
        misuse("embedded", cluster.embedded("app"), cluster.embedded("app"), 600);
    }

    @Test
    void everyMisuseOfAnAttachedSessionIsAnsweredWithOneClearMessage() {
        misuse("attached", cluster.attached(), cluster.attached(), 600);
    }

    @Test
    void everyMisuseOfAReattachingSessionIsAnsweredWithOneClearMessage() {
        misuse("reattaching", cluster.reattaching(), cluster.reattaching(), 600);
    }

    @Test
    void everyMisuseOfTheStartersBeansIsAnsweredWithOneClearMessage() {
        MisuseCluster.Starter starter = cluster.starter();
        MisuseWorld world = new MisuseWorld("starter", starter.lite(), cluster.attached());
        starter.region().size(); // maps it
        parameters(world, new Subject("@LiteRegion", LmrHandle.class, starter.region()));
        parameters(world, new Subject("LtRpcTemplate", LtRpcTemplate.class, starter.template()));
        misuse(world, 800);
    }

    private void misuse(String kind, Lite lite, Lite other, int leastCount) {
        misuse(new MisuseWorld(kind, lite, other), leastCount);
    }

    private void misuse(MisuseWorld world, int leastCount) {
        for (Subject subject : List.of(
                new Subject("LtMemory", LtMemory.class, world.lite.memory()),
                new Subject("LmrHandle", LmrHandle.class, world.handle),
                new Subject("LmrHandle on another node", LmrHandle.class, world.second),
                new Subject("LtRpc", LtRpc.class, world.lite.rpc()),
                new Subject("RpcClient", RpcClient.class, world.client),
                new Subject("RpcClient with context", RpcClient.class, world.client.withContext("trace")),
                new Subject("RpcClient of any node", RpcClient.class, world.anyClient),
                new Subject("RpcServer", RpcServer.class, world.server),
                new Subject("RpcMessages", RpcMessages.class, world.port),
                new Subject("LtSync", LtSync.class, world.lite.sync()),
                new Subject("LtLock", LtLock.class, world.lock),
                new Subject("LtBarrier", LtBarrier.class, world.barrier))) {
            parameters(world, subject);
        }
        calls(world);
        states(world);
        permissions(world);
        closedSession(world);
        misuses.finish(leastCount);
    }

    /** Each bad value of each parameter, with good ones for the others. */
    private void parameters(MisuseWorld world, Subject subject) {
        MisuseValues values = new MisuseValues(world);
        for (Method method : methods(subject.api())) {
            for (int index = 0; index < method.getParameterCount(); index++) {
                for (Bad bad : values.bad(subject.api(), method, method.getParameters()[index])) {
                    parameter(world, subject, method, index, bad, values);
                }
            }
        }
    }

    private void parameter(MisuseWorld world, Subject subject, Method method, int index, Bad bad, MisuseValues values) {
        @Nullable Object[] arguments = new @Nullable Object[method.getParameterCount()];
        MisuseWorld.Pending pending = null;
        for (int other = 0; other < arguments.length; other++) {
            Parameter parameter = method.getParameters()[other];
            if (other == index) {
                arguments[other] = bad.value();
            } else if (parameter.getType() == RpcCall.class) {
                pending = world.pending();
                arguments[other] = pending.call();
            } else {
                arguments[other] = values.good(subject.api(), method, parameter);
            }
        }
        String what = "%s, %s %s".formatted(text(method), method.getParameters()[index].getName(), bad.label());
        run(world, subject.kind(), what, subject.target(), method, arguments, bad);
        if (pending != null && bad.mustFail()) {
            String problem = MisuseWorld.problemOf(pending);
            if (problem != null) {
                misuses.fail("%s: %s: %s".formatted(subject.kind(), what, problem));
            }
        }
    }

    /** Misuses of a received call, which must stay unanswered. */
    private void calls(MisuseWorld world) {
        MisuseValues values = new MisuseValues(world);
        for (Method method : methods(RpcCall.class)) {
            for (int index = 0; index < method.getParameterCount(); index++) {
                for (Bad bad : values.bad(RpcCall.class, method, method.getParameters()[index])) {
                    MisuseWorld.Pending pending = world.pending();
                    parameter(world, new Subject("RpcCall", RpcCall.class, pending.call()), method, index, bad, values);
                    String problem = MisuseWorld.problemOf(pending);
                    if (problem != null) {
                        misuses.fail("RpcCall: %s, %s: %s".formatted(text(method), bad.label(), problem));
                    }
                }
            }
        }
        MisuseWorld.Pending answered = world.pending();
        String unused = MisuseWorld.problemOf(answered);
        state(world, new Subject("an answered RpcCall", RpcCall.class, answered.call()), Set.of("request", "context"));
    }

    /** Uses of what has ended. */
    private void states(MisuseWorld world) {
        Set<String> known = Set.of(
                "id", "name", "size", "permissions", "withPriority", "unwrap", "unmap", "close", "function", "port");
        state(world, new Subject("an unmapped LmrHandle", LmrHandle.class, world.unmapped), known);
        state(world, new Subject("a freed LmrHandle", LmrHandle.class, world.freed), known);
        state(world, new Subject("a closed RpcServer", RpcServer.class, world.closedServer), known);
        state(world, new Subject("an RpcServer with a handler", RpcServer.class, world.handled), known);
        state(world, new Subject("a closed RpcMessages", RpcMessages.class, world.closedPort), known);
    }

    private void state(MisuseWorld world, Subject subject, Set<String> allowed) {
        MisuseValues values = new MisuseValues(world);
        for (Method method : methods(subject.api())) {
            if (allowed.contains(method.getName()) || method.getName().startsWith("caller")) {
                continue;
            }
            Object[] arguments = Arrays.stream(method.getParameters())
                    .map(parameter -> values.good(subject.api(), method, parameter))
                    .toArray();
            Bad good = Bad.of(null, "good values");
            run(world, subject.kind(), text(method), subject.target(), method, arguments, good);
        }
    }

    /** Operations on handles that lack their permission. */
    private void permissions(MisuseWorld world) {
        Map<Permission, Set<String>> needing = Map.of(
                Permission.READ, Set.of("read", "readAsync", "getLong", "getInt"),
                Permission.WRITE, Set.of("write", "writeAsync", "putLong", "putInt", "memset"),
                Permission.ATOMIC,
                        Set.of(
                                "fetchAdd",
                                "testSet",
                                "getAndAdd",
                                "getAndSet",
                                "compareAndSet",
                                "getAndAddInt",
                                "getAndSetInt",
                                "compareAndSetInt"),
                Permission.MASTER, Set.of("extents", "grant", "revoke", "moveTo", "free"));
        MisuseValues values = new MisuseValues(world);
        for (Permission held : Permission.values()) {
            try (LmrHandle handle = world.with(held)) {
                world.mark();
                needing.forEach((needed, names) -> methods(LmrHandle.class).stream()
                        .filter(method -> needed != held && names.contains(method.getName()))
                        .forEach(method -> {
                            Object[] arguments = Arrays.stream(method.getParameters())
                                    .map(parameter -> values.good(LmrHandle.class, method, parameter))
                                    .toArray();
                            Bad good = Bad.of(null, "good values", needed.name(), world.lmr);
                            String what = "%s needs %s".formatted(text(method), needed);
                            run(world, "LmrHandle with " + held, what, handle, method, arguments, good);
                        }));
            }
            world.mark();
        }
    }

    /** Every method of every object of a session that is closed. */
    private void closedSession(MisuseWorld world) {
        MisuseValues values = new MisuseValues(world);
        List<Subject> subjects = List.of(
                new Subject("LtMemory", LtMemory.class, world.lite.memory()),
                new Subject("LmrHandle", LmrHandle.class, world.handle),
                new Subject("LtRpc", LtRpc.class, world.lite.rpc()),
                new Subject("RpcClient", RpcClient.class, world.client),
                new Subject("RpcServer", RpcServer.class, world.server),
                new Subject("RpcMessages", RpcMessages.class, world.port),
                new Subject("LtSync", LtSync.class, world.lite.sync()),
                new Subject("LtLock", LtLock.class, world.lock),
                new Subject("LtBarrier", LtBarrier.class, world.barrier));
        Map<Method, Object[]> arguments = subjects.stream()
                .flatMap(subject -> methods(subject.api()).stream().map(method -> Map.entry(method, subject.api())))
                .collect(Collectors.toMap(
                        Map.Entry::getKey,
                        entry -> Arrays.stream(entry.getKey().getParameters())
                                .map(parameter -> values.good(entry.getValue(), entry.getKey(), parameter))
                                .toArray()));
        long expected = cluster.lmrBytes() - 2L * MisuseWorld.LMR_BYTES; // the handle's and the second one's
        world.lite.close();
        Set<String> known = Set.of(
                "id",
                "name",
                "size",
                "permissions",
                "unwrap",
                "unmap",
                "close",
                "function",
                "port",
                "node",
                "parties",
                "withContext",
                "withPriority",
                "bind",
                "bindAny");
        for (Subject subject : subjects) {
            for (Method method : methods(subject.api())) {
                if (!known.contains(method.getName())) {
                    Object[] good = Objects.requireNonNull(arguments.get(method));
                    String problem = answer(subject.target(), method, good, Bad.of(null, "good values"));
                    misuses.add("a closed session's " + subject.kind(), text(method), problem);
                }
            }
        }
        long left = bytesOnce(expected);
        if (left != expected) {
            misuses.fail("the closed session leaves %d bytes instead of %d".formatted(left, expected));
        }
    }

    /** Bytes of LMRs, once they are as many as expected, or after a while. */
    private long bytesOnce(long expected) {
        long endNs = System.nanoTime() + FREED.toNanos();
        long bytes = cluster.lmrBytes();
        while (bytes != expected && System.nanoTime() - endNs < 0) {
            Waits.pass(POLL);
            bytes = cluster.lmrBytes();
        }
        return bytes;
    }

    private void run(
            MisuseWorld world,
            String kind,
            String what,
            Object target,
            Method method,
            @Nullable Object[] arguments,
            Bad bad) {
        world.mark();
        long before = cluster.lmrBytes();
        String problem = answer(target, method, arguments, bad);
        String after = world.problem();
        // An LMR that was created after its caller's deadline is freed in the background.
        long left = bytesOnce(before);
        if (after == null && left != before) {
            after = "afterwards %d bytes are allocated instead of %d".formatted(left, before);
        }
        String all = Stream.of(problem, after).filter(one -> one != null).collect(Collectors.joining("; "));
        if (bad.mustFail()) {
            misuses.add(kind, what, all.isEmpty() ? null : all);
        } else if (!all.isEmpty()) {
            misuses.fail("%s: %s: %s".formatted(kind, what, all));
        }
    }

    /** Calls the method; returns what is wrong with its answer, or null. */
    private @Nullable String answer(Object target, Method method, @Nullable Object[] arguments, Bad bad) {
        Future<@Nullable Object> run = worker.submit(() -> settled(method.invoke(target, arguments)));
        try {
            Object result = run.get(LIMIT.toNanos(), TimeUnit.NANOSECONDS);
            undo(method, result);
            return bad.mustFail() ? "it was accepted" : null;
        } catch (ExecutionException e) {
            return problemOf(reason(e), bad);
        } catch (TimeoutException e) {
            run.cancel(true);
            return "it did not end within " + LIMIT;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** What the method or its future failed with. */
    private static Throwable reason(Throwable failure) {
        Throwable cause = failure.getCause();
        boolean isWrapper = failure instanceof InvocationTargetException || failure instanceof ExecutionException;
        return isWrapper && cause != null ? reason(cause) : failure;
    }

    /** The result, once it is there. */
    private static @Nullable Object settled(@Nullable Object result) throws Exception {
        if (result instanceof CompletableFuture<?> future) {
            return future.get(LIMIT.toNanos(), TimeUnit.NANOSECONDS);
        }
        if (result instanceof Map<?, ?> outcomes) {
            for (Object outcome : outcomes.values()) {
                byte[] unused = ((RpcOutcome) outcome).get();
            }
        }
        return result;
    }

    private static void undo(Method method, @Nullable Object result) {
        if (result instanceof LmrHandle handle
                && (method.getName().equals("malloc") || method.getName().equals("register"))) {
            handle.free();
        } else if (result instanceof AutoCloseable closeable) {
            try {
                closeable.close();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
    }

    private static @Nullable String problemOf(Throwable failure, Bad bad) {
        boolean isNull = (bad.value() == null && bad.label().equals("null"))
                || bad.label().contains("null]");
        boolean fits = isNull
                ? failure instanceof NullPointerException
                : failure instanceof LiteException
                        || failure instanceof IllegalArgumentException
                        || failure instanceof IllegalStateException
                        || failure instanceof WrongThreadException;
        String problem = Misuses.problemOf(failure.getMessage(), bad.parts());
        if (!fits) {
            return "it throws %s".formatted(failure);
        }
        return problem == null ? null : "%s: %s".formatted(failure.getClass().getSimpleName(), problem);
    }

    private static List<Method> methods(Class<?> api) {
        return Arrays.stream(api.getMethods())
                .filter(method ->
                        !Modifier.isStatic(method.getModifiers()) && method.getDeclaringClass() != Object.class)
                .filter(method -> !method.getName().equals("toString"))
                .sorted(Comparator.comparing(ApiMisuseTest::text))
                .toList();
    }

    private static String text(Method method) {
        return method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }
}
