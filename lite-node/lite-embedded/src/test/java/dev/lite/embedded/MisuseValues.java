package dev.lite.embedded;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandler;
import dev.lite.api.RpcServer;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ParameterizedTypeReference;

/** Good and bad arguments for a parameter, by its type, its name and its method. */
final class MisuseValues {
    private static final long[] FAR = {
        -1, Long.MIN_VALUE, Long.MAX_VALUE, Long.MAX_VALUE - 63, MisuseWorld.LMR_BYTES + 8
    };
    private static final int TOO_LONG = LtRpc.MESSAGE_BYTES_MAX + 1;
    /** Methods that would wait for a huge deadline. */
    private static final Set<String> WAITING = Set.of("receive", "replyAndReceive", "await");

    private final MisuseWorld world;

    MisuseValues(MisuseWorld world) {
        this.world = world;
    }

    /**
     * A bad argument.
     *
     * @param label the value, for the report
     * @param mustFail false if the method may accept it, but must answer well if not
     * @param parts what the message must have
     */
    record Bad(@Nullable Object value, String label, boolean mustFail, List<String> parts) {
        static Bad of(@Nullable Object value, String label, String... parts) {
            return new Bad(value, label, true, List.of(parts));
        }

        static Bad number(long value) {
            return of(value, Long.toString(value), Long.toString(value));
        }

        static Bad count(int value) {
            return of(value, Integer.toString(value), Integer.toString(value));
        }

        static Bad maybe(Object value, String label) {
            return new Bad(value, label, false, List.of());
        }
    }

    /** An argument with which the method succeeds, if the others are good. */
    Object good(Class<?> api, Method method, Parameter parameter) {
        Class<?> type = parameter.getType();
        if (type == Duration.class) {
            return MisuseWorld.GENEROUS;
        }
        if (type == MemorySegment.class) {
            return parameter.getName().equals("reply") ? MisuseWorld.nativeBytes(1024) : MisuseWorld.bytes(64);
        }
        if (type == byte[].class) {
            return new byte[64];
        }
        if (type == Permission.class) {
            return Permission.READ;
        }
        if (type == Permission[].class) {
            return new Permission[0];
        }
        if (type == RpcHandler.class) {
            return (RpcHandler) RpcCall::request;
        }
        if (type == RpcCall.class) {
            return world.pending().call();
        }
        return switch (parameter.getName()) {
            case "offset", "sourceOffset", "destinationOffset" -> 64L;
            case "length" -> 64L;
            case "delta", "expected", "value" -> number(type);
            case "slices" -> List.of(new LmrSlice(64, MisuseWorld.bytes(64)));
            case "principal" -> "friend";
            case "permissions" -> EnumSet.of(Permission.READ);
            case "node" -> "node-1";
            case "nodes" -> List.of("node-1");
            case "function" ->
                method.getName().equals("register") || method.getName().equals("serve")
                        ? "misuse/unused"
                        : world.function;
            case "port" -> method.getName().equals("messages") ? "misuse/unused-port" : world.port.port();
            case "priority" -> Priority.LOW;
            case "concurrency" -> 1;
            case "parties" -> 2;
            case "context" -> "trace";
            case "message" -> "a failure";
            case "handlerCode" -> 1;
            case "name" -> api == LtMemory.class ? world.lmr : "misuse/unused";
            case "id" -> world.handle.id();
            case "source" -> world.handle;
            case "destination" -> world.second;
            case "spec" -> goodSpec(method);
            case "request" -> "text";
            case "replyType" -> type == Class.class ? String.class : ParameterizedTypeReference.forType(String.class);
            default -> throw new IllegalStateException("no good value for %s of %s".formatted(parameter, method));
        };
    }

    private static Object number(Class<?> type) {
        if (type == byte.class) {
            return (byte) 1;
        }
        return type == int.class ? (Object) 1 : (Object) 1L;
    }

    private LmrSpec goodSpec(Method method) {
        return switch (method.getName()) {
            case "createOrMap" -> LmrSpec.of(MisuseWorld.LMR_BYTES).withName(world.lmr);
            case "register" -> LmrSpec.of(64);
            default -> LmrSpec.of(1024);
        };
    }

    List<Bad> bad(Class<?> api, Method method, Parameter parameter) {
        Class<?> type = parameter.getType();
        List<Bad> bad = new ArrayList<>();
        boolean mayBeNull = parameter.getName().equals("request") && type == Object.class;
        if (!type.isPrimitive() && !mayBeNull) {
            bad.add(Bad.of(null, "null", parameter.getName()));
        }
        if (type == Duration.class) {
            durations(method, bad);
        } else if (type == MemorySegment.class) {
            segments(api, method, parameter, bad);
        } else if (type == byte[].class) {
            arrays(api, bad);
        } else if (type == String.class) {
            texts(api, method, parameter, bad);
        } else if (type == long.class) {
            numbers(method, parameter, bad);
        } else if (type == int.class) {
            counts(parameter, bad);
        } else if (type == LmrHandle.class) {
            handles(bad);
        } else if (type == LmrSpec.class) {
            specs(method, bad);
        } else if (type == Permission[].class) {
            bad.add(Bad.of(new Permission[] {null}, "[null]", "more"));
        } else if (type == Set.class) {
            permissions(method, bad);
        } else if (type == List.class) {
            slices(method, bad);
        } else if (type == Collection.class) {
            bad.add(Bad.of(Collections.singletonList(null), "[null]", "nodes"));
            bad.add(Bad.of(List.of("node-1", "nowhere"), "[node-1, nowhere]", "nowhere"));
            bad.add(Bad.of(List.of(""), "[\"\"]", "\"\""));
        } else if (type == RpcCall.class) {
            calls(bad);
        }
        return bad;
    }

    private static void durations(Method method, List<Bad> bad) {
        bad.add(Bad.of(Duration.ofSeconds(-1), "-1s", "-1 s"));
        bad.add(Bad.of(Duration.ofNanos(-1000), "-1us", "-1 µs"));
        bad.add(Bad.of(Duration.ofSeconds(Long.MIN_VALUE), "shortest", "-9223372036854775808 s"));
        bad.add(Bad.of(Duration.ZERO, "0s", "0 s"));
        if (!WAITING.contains(method.getName())) {
            bad.add(Bad.maybe(Duration.ofSeconds(Long.MAX_VALUE), "longest"));
            bad.add(Bad.maybe(Duration.ofDays(365_000), "1000 years"));
        }
    }

    private void segments(Class<?> api, Method method, Parameter parameter, List<Bad> bad) {
        bad.add(Bad.of(world.closedSegment, "of a closed arena", "closed"));
        bad.add(Bad.of(world.confinedSegment, "of another thread's arena", "thread"));
        boolean filled = parameter.getName().equals("destination")
                || (api == RpcClient.class && parameter.getName().equals("reply"));
        if (filled) {
            bad.add(Bad.of(world.readOnlySegment, "read-only", "read-only"));
        }
        if (api == LmrHandle.class) {
            bad.add(Bad.of(MisuseWorld.bytes(4097), "4097 bytes", "4097", "4096"));
            bad.add(Bad.of(MisuseWorld.nativeBytes(5 << 20), "5 MiB", "5242880", "4096"));
        } else if (api == RpcClient.class && parameter.getName().equals("reply")) {
            bad.add(Bad.of(MisuseWorld.bytes(1), "1 byte", "64 bytes", "1"));
            bad.add(Bad.of(MisuseWorld.bytes(0), "0 bytes", "64 bytes", "0"));
        } else if (method.getName().equals("register")) {
            bad.add(Bad.of(MisuseWorld.bytes(63), "63 bytes", "63", "64"));
            bad.add(Bad.of(MisuseWorld.bytes(0), "0 bytes", "0 bytes", "64"));
        } else {
            bad.add(Bad.of(MisuseWorld.bytes(TOO_LONG), "65537 bytes", "65537"));
            bad.add(Bad.of(MisuseWorld.nativeBytes(5 << 20), "5 MiB", "5242880"));
        }
    }

    private static void arrays(Class<?> api, List<Bad> bad) {
        if (api == LmrHandle.class) {
            bad.add(Bad.of(new byte[4097], "4097 bytes", "4097", "4096"));
        } else {
            bad.add(Bad.of(new byte[TOO_LONG], "65537 bytes", "65537"));
            bad.add(Bad.of(new byte[5 << 20], "5 MiB", "5242880"));
        }
    }

    private void texts(Class<?> api, Method method, Parameter parameter, List<Bad> bad) {
        String name = parameter.getName();
        if (name.equals("message")) {
            return; // any text, of any length
        }
        if (name.equals("context")) {
            bad.add(Bad.of("", "empty", "0 bytes"));
            bad.add(Bad.of("x".repeat(513), "513 bytes", "513", "512"));
            bad.add(Bad.of("ä".repeat(400), "800 bytes", "800", "512"));
            return;
        }
        bad.add(Bad.of("", "empty", "\"\""));
        bad.add(Bad.of("   ", "blank", "\"   \""));
        bad.add(Bad.of("a\nb", "with a line break", "U+000A"));
        bad.add(Bad.of("\0a", "with U+0000", "U+0000"));
        bad.add(Bad.of("a\u0085", "with U+0085", "U+0085"));
        bad.add(Bad.of("a\ud800", "with half a character", "U+D800"));
        boolean isNode = name.equals("node");
        bad.add(Bad.of("n".repeat(700), "700 bytes", "nnnnnnnn", isNode ? "63" : "700"));
        bad.add(Bad.of("ü".repeat(400), "800 bytes", "üüüüüüüü", isNode ? "63" : "800"));
        switch (name) {
            case "node" -> {
                if (!method.getName().equals("bind")) { // it asks no node
                    bad.add(Bad.of("nowhere", "unknown", "nowhere"));
                }
                bad.add(Bad.of("node 2", "with a space", "node 2"));
                bad.add(Bad.of("node/2", "with a slash", "node/2"));
                bad.add(Bad.of("..", "two dots", ".."));
            }
            case "function" -> {
                if (method.getName().startsWith("call") || method.getName().equals("multicast")) {
                    bad.add(Bad.of("misuse/nobody", "not served", "misuse/nobody"));
                    bad.add(Bad.of("/", "a slash", "\"/\""));
                }
            }
            case "port" -> {
                if (method.getName().equals("send")) {
                    bad.add(Bad.of("misuse/nobody", "not open", "misuse/nobody"));
                }
            }
            case "name" -> {
                if (api == LtMemory.class) {
                    for (String unknown : List.of("misuse/none", "/", "//a", "a//b", "a/", "/a", "größe", "..")) {
                        bad.add(Bad.of(unknown, unknown, "\"" + unknown + "\""));
                    }
                }
            }
            default -> {}
        }
    }

    private void numbers(Method method, Parameter parameter, List<Bad> bad) {
        String name = parameter.getName();
        switch (name) {
            case "offset", "sourceOffset", "destinationOffset" -> {
                Arrays.stream(FAR).mapToObj(Bad::number).forEach(bad::add);
                String operation = method.getName();
                if (operation.contains("Int")
                        || operation.contains("Long")
                        || operation.matches("getAnd.*|compare.*|testSet|fetchAdd")) {
                    bad.add(Bad.number(1));
                    bad.add(Bad.number(2));
                    bad.add(Bad.number(67));
                    bad.add(Bad.number(-8));
                    bad.add(Bad.number(4095));
                    if (!operation.contains("Int")) {
                        bad.add(Bad.number(4));
                        bad.add(Bad.number(4092));
                    }
                }
            }
            case "length" -> {
                Arrays.stream(FAR).mapToObj(Bad::number).forEach(bad::add);
                bad.add(Bad.number(4097));
            }
            case "id" -> {
                for (long id : new long[] {0, -1, Long.MIN_VALUE, 987_654_321, 1L << 48, (1L << 53) + 5}) {
                    bad.add(Bad.number(id));
                }
            }
            default -> {} // any value
        }
    }

    private static void counts(Parameter parameter, List<Bad> bad) {
        switch (parameter.getName()) {
            case "concurrency" -> {
                for (int count : new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, LtRpc.CONCURRENCY_MAX + 1}) {
                    bad.add(Bad.count(count));
                }
            }
            case "parties" -> {
                for (int count : new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, LtSync.PARTIES_MAX + 1}) {
                    bad.add(Bad.count(count));
                }
            }
            default -> {} // any value
        }
    }

    private void handles(List<Bad> bad) {
        bad.add(Bad.of(world.unmapped, "unmapped", world.lmr));
        bad.add(Bad.of(world.freed, "freed", Long.toString(world.freed.id())));
        bad.add(Bad.of(world.ofOtherSession, "of another session", "another session"));
        LmrHandle foreign = (LmrHandle) Proxy.newProxyInstance(
                LmrHandle.class.getClassLoader(),
                new Class<?>[] {LmrHandle.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "unwrap" -> proxy;
                    case "toString" -> "a foreign handle";
                    case "id", "size" -> 1L;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
        bad.add(Bad.of(foreign, "of another library", "a foreign handle"));
    }

    private void specs(Method method, List<Bad> bad) {
        LmrSpec good = goodSpec(method);
        switch (method.getName()) {
            case "createOrMap" -> {
                bad.add(Bad.of(LmrSpec.of(4096), "without a name", "4096"));
                bad.add(Bad.of(LmrSpec.of(8192).withName(world.lmr), "of another size", world.lmr, "8192", "4096"));
                bad.add(Bad.of(
                        good.withDefaultPermissions(Permission.READ), "with other permissions", world.lmr, "READ"));
                bad.add(Bad.of(LmrSpec.of(1L << 40).withName("misuse/huge"), "of 1 TiB", "1099511627776"));
            }
            case "register" -> {
                bad.add(Bad.of(LmrSpec.of(65), "of another size", "65", "64"));
                bad.add(Bad.of(LmrSpec.of(Long.MAX_VALUE), "of another size, huge", "9223372036854775807", "64"));
                bad.add(Bad.of(good.withName(world.lmr), "of a name in use", world.lmr));
                bad.add(Bad.of(good.withPlacement(Placement.on("nowhere")), "on an unknown node", "nowhere"));
            }
            default -> {
                bad.add(Bad.of(LmrSpec.of(1L << 40), "of 1 TiB", "1099511627776"));
                bad.add(Bad.of(LmrSpec.of(Long.MAX_VALUE), "of 8 EiB", "9223372036854775807"));
                bad.add(Bad.of(
                        LmrSpec.of(2 * MisuseCluster.ARENA_BYTES + 1).withPlacement(Placement.spread()),
                        "larger than all arenas",
                        Long.toString(2 * MisuseCluster.ARENA_BYTES + 1)));
                bad.add(Bad.of(
                        LmrSpec.of(1L << 40).withPlacement(Placement.roundRobin()),
                        "of 1 TiB in turn",
                        "1099511627776"));
                bad.add(Bad.of(good.withName(world.lmr), "of a name in use", world.lmr));
                for (String node : List.of("nowhere", "x".repeat(63))) {
                    bad.add(Bad.of(
                            good.withPlacement(Placement.on(node)),
                            "on node " + node,
                            node.substring(0, Math.min(node.length(), 8))));
                }
                bad.add(Bad.of(
                        good.withPlacement(Placement.on(List.of("node-1", "nowhere"))),
                        "on two nodes, one unknown",
                        "nowhere"));
            }
        }
    }

    private static void permissions(Method method, List<Bad> bad) {
        bad.add(Bad.of(new HashSet<>(Collections.singleton((Permission) null)), "[null]", "permissions"));
        if (!method.getName().equals("grant")) {
            bad.add(Bad.of(EnumSet.noneOf(Permission.class), "[]", "permission"));
        }
    }

    private void slices(Method method, List<Bad> bad) {
        LmrSlice good = new LmrSlice(64, MisuseWorld.bytes(64));
        bad.add(Bad.of(Collections.singletonList(null), "[null]", "slices"));
        bad.add(Bad.of(Arrays.asList(good, null), "[good, null]", "slices"));
        for (long offset : FAR) {
            String label = "a slice at " + offset;
            bad.add(Bad.of(List.of(new LmrSlice(offset, MisuseWorld.bytes(64))), label, Long.toString(offset), "4096"));
            bad.add(Bad.of(
                    List.of(good, new LmrSlice(offset, MisuseWorld.bytes(64))),
                    label + " after a good one",
                    Long.toString(offset),
                    "4096"));
        }
        bad.add(Bad.of(List.of(new LmrSlice(0, MisuseWorld.bytes(4097))), "4097 bytes", "4097", "4096"));
        bad.add(Bad.of(List.of(new LmrSlice(0, world.closedSegment)), "of a closed arena", "closed"));
        bad.add(Bad.of(List.of(good, new LmrSlice(0, world.confinedSegment)), "of another thread's arena", "thread"));
        if (method.getName().startsWith("read")) {
            bad.add(Bad.of(List.of(new LmrSlice(0, world.readOnlySegment)), "read-only", "read-only"));
        }
    }

    private void calls(List<Bad> bad) {
        MisuseWorld.Pending answered = world.pending();
        String unused = MisuseWorld.problemOf(answered);
        bad.add(Bad.of(answered.call(), "answered", "answered"));
        RpcCall foreign = (RpcCall) Proxy.newProxyInstance(
                RpcCall.class.getClassLoader(),
                new Class<?>[] {RpcCall.class},
                (proxy, method, arguments) -> method.getName().equals("toString") ? "a foreign call" : null);
        bad.add(Bad.of(foreign, "of another library", world.served));
    }

    /** Whether a failed call of the method must leave the call unanswered. */
    static boolean needsCall(Class<?> api, Method method) {
        return api == RpcCall.class
                || (api == RpcServer.class && method.getName().equals("replyAndReceive"));
    }
}
