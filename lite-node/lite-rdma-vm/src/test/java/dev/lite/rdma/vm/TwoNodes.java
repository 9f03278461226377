package dev.lite.rdma.vm;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.tier.node.LiteNode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;

/** Operations between two nodes; each failed check throws an exception, which ends the program. */
final class TwoNodes {
    private static final Duration DEADLINE = Duration.ofSeconds(40);
    /** The timeout of a call in {@link #watch}. */
    private static final Duration PROBE = Duration.ofSeconds(2);

    private static final long PAUSE_NS = 50_000_000;
    private static final int BYTES = 9 << 20; // three chunks on two nodes, the last one not full
    private static final int TRANSFERS = 200;
    private static final int TRANSFER_BYTES_MAX = 64 << 10;
    private static final int CALLS = 300;
    private static final int CALL_BYTES_MAX = 4096;
    private static final int STEPS = 100;
    private static final String STAMP = "two/stamp";
    private static final String COUNTER = "two/counter";
    private static final String LOCK = "two/lock";
    private static final String SPREAD = "two/spread";

    private TwoNodes() {}

    /** The functions that both nodes serve: an echo, a checksum over a named LMR, and steps under the lock. */
    static void serve(Lite lite) {
        lite.rpc().register("echo", 4, RpcCall::request);
        lite.rpc().register("checksum", 1, call -> {
            CRC32C checksum = new CRC32C();
            try (LmrHandle handle = lite.memory().map(SPREAD, Permission.READ)) {
                byte[] bytes = new byte[Math.toIntExact(handle.size())];
                handle.read(0, bytes);
                checksum.update(bytes);
            }
            return number(checksum.getValue());
        });
        lite.rpc().register("steps", 1, call -> {
            try (LmrHandle counter = lite.memory().map(COUNTER, Permission.READ, Permission.WRITE)) {
                return number(steps(lite, counter));
            }
        });
    }

    private static MemorySegment number(long value) {
        return Arena.ofAuto().allocateFrom(ValueLayout.JAVA_LONG, value);
    }

    /** Increments the counter repeatedly by a read and a write under the lock; returns the highest fencing token. */
    private static long steps(Lite lite, LmrHandle counter) {
        LtLock lock = lite.sync().lock(LOCK);
        MemorySegment word = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
        long token = 0;
        for (int step = 0; step < STEPS; step++) {
            try (HeldLock held = lock.acquire(DEADLINE)) {
                require(
                        held.fencingToken() > token,
                        "the fencing token does not grow: this one, the one before",
                        held.fencingToken(),
                        token);
                token = held.fencingToken();
                counter.read(0, word);
                word.set(ValueLayout.JAVA_LONG, 0, word.get(ValueLayout.JAVA_LONG, 0) + 1);
                counter.write(0, word);
            }
        }
        return token;
    }

    /**
     * Reads, writes, atomics, calls in both directions and locks, between this node and the server. The data depends on the
     * printed seed.
     */
    static void workload(LiteNode node, Lite lite, String fabric) {
        awaitFabric(node, fabric);
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        time("spread", () -> spread(lite, random));
        time("transfers", () -> transfers(lite, random));
        time("calls", () -> calls(lite, random));
        time("locks", () -> locks(lite));
        System.out.println("workload done");
    }

    private static void time(String name, Runnable part) {
        long beginNs = System.nanoTime();
        part.run();
        System.out.printf("%s done in %d ms%n", name, (System.nanoTime() - beginNs) / 1_000_000);
    }

    private static void awaitFabric(LiteNode node, String fabric) {
        long endNs = System.nanoTime() + DEADLINE.toNanos();
        while (!fabricOf(node, NodeProgram.SERVER).equals(fabric)) {
            require(System.nanoTime() - endNs < 0, "not connected over", fabric, node.nodes());
            LockSupport.parkNanos(PAUSE_NS);
        }
        System.out.println("connected over " + fabric);
    }

    private static String fabricOf(LiteNode node, String peer) {
        return node.nodes().stream()
                .filter(one -> one.name().equals(peer))
                .map(NodeInfo::fabric)
                .findFirst()
                .orElse("none");
    }

    private static void transfers(Lite lite, Random random) {
        byte[] model = new byte[1 << 20];
        try (LmrHandle handle =
                lite.memory().malloc(LmrSpec.of(model.length).withPlacement(Placement.on(NodeProgram.SERVER)))) {
            for (int i = 0; i < TRANSFERS; i++) {
                byte[] bytes = new byte[1 + random.nextInt(TRANSFER_BYTES_MAX)];
                int offset = random.nextInt(model.length - bytes.length);
                if (random.nextBoolean()) {
                    random.nextBytes(bytes);
                    handle.write(offset, bytes);
                    System.arraycopy(bytes, 0, model, offset, bytes.length);
                } else {
                    handle.read(offset, bytes);
                    require(
                            Arrays.equals(bytes, Arrays.copyOfRange(model, offset, offset + bytes.length)),
                            "wrong bytes read: from, to",
                            offset,
                            offset + bytes.length);
                }
            }
            handle.memset(0, 64, (byte) 0);
            for (int i = 0; i < STEPS; i++) {
                require(handle.fetchAdd(8, 3) == 3L * i, "fetchAdd", i);
                require(handle.testSet(16, i, i + 1) == i, "testSet", i);
            }
        }
    }

    private static void spread(Lite lite, Random random) {
        byte[] bytes = new byte[BYTES];
        random.nextBytes(bytes);
        LmrHandle handle = lite.memory()
                .malloc(
                        LmrSpec.of(BYTES)
                                .withName(SPREAD)
                                .withPlacement(Placement.spread())
                                .withDefaultPermissions(Permission.READ),
                        DEADLINE);
        List<String> nodes =
                handle.extents().stream().map(Extent::node).distinct().toList();
        require(nodes.size() == 2, "the extents are on", nodes);
        handle.write(0, bytes);
        CRC32C checksum = new CRC32C();
        checksum.update(bytes);
        long seen = toLong(lite.rpc().call(NodeProgram.SERVER, "checksum", new byte[0], DEADLINE));
        require(seen == checksum.getValue(), "the other node does not read the bytes written here");
        handle.free();
    }

    private static void calls(Lite lite, Random random) {
        RpcClient echo = lite.rpc().bind(NodeProgram.SERVER, "echo");
        for (int i = 0; i < CALLS; i++) {
            byte[] request = new byte[random.nextInt(CALL_BYTES_MAX)];
            random.nextBytes(request);
            require(Arrays.equals(echo.call(request, DEADLINE), request), "the echo differs: call", i);
        }
    }

    private static void locks(Lite lite) {
        LmrHandle counter = lite.memory()
                .malloc(LmrSpec.of(4096)
                        .withName(COUNTER)
                        .withPlacement(Placement.on(NodeProgram.SERVER))
                        .withDefaultPermissions(Permission.READ, Permission.WRITE));
        CompletableFuture<byte[]> theirs =
                lite.rpc().callAsync(NodeProgram.SERVER, "steps", new byte[0], DEADLINE.multipliedBy(2));
        long token = steps(lite, counter);
        long theirToken = toLong(theirs.join());
        byte[] word = new byte[Long.BYTES];
        counter.read(0, word);
        require(toLong(word) == 2L * STEPS, "steps found, and steps done", toLong(word), 2 * STEPS);
        require(token != theirToken, "the same fencing token twice", token);
        counter.free();
    }

    private static long toLong(byte[] bytes) {
        return MemorySegment.ofArray(bytes).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    /**
     * Calls the server in an endless loop and also reads its memory. Prints {@code lost <ms since the last answer>
     * <reason>} when the server no longer answers, {@code reads continue} when its memory can still be read, {@code cut <ms
     * since then>} when the connection is closed, and {@code back <ms> <fabric>} when it answers again, followed by {@code
     * memory kept} or {@code memory: <what happened>} for its bytes.
     */
    static void watch(LiteNode node, Lite lite) {
        LmrHandle stamp =
                lite.memory().malloc(LmrSpec.of(4096).withName(STAMP).withPlacement(Placement.on(NodeProgram.SERVER)));
        byte[] written = new byte[4096];
        new Random(1).nextBytes(written);
        stamp.write(0, written);
        RpcClient echo = lite.rpc().bind(NodeProgram.SERVER, "echo");
        byte[] request = {1};
        boolean lost = false;
        boolean cut = false;
        long changedNs = System.nanoTime();
        AtomicBoolean silent = new AtomicBoolean();
        Thread.ofPlatform().daemon().name("reader").start(() -> readOn(stamp, silent));
        System.out.println("watching");
        while (true) {
            try {
                byte[] unused = echo.call(request, PROBE);
                long nowNs = System.nanoTime();
                if (lost) {
                    System.out.printf(
                            "back %d %s%n", (nowNs - changedNs) / 1_000_000, fabricOf(node, NodeProgram.SERVER));
                    printMemory(stamp, written);
                    silent.set(false);
                    lost = false;
                    cut = false;
                }
                changedNs = nowNs;
            } catch (LiteException e) {
                if (!lost) {
                    long nowNs = System.nanoTime();
                    System.out.printf("lost %d %s%n", (nowNs - changedNs) / 1_000_000, e);
                    changedNs = nowNs;
                    lost = true;
                    silent.set(true);
                }
            }
            if (lost && !cut && fabricOf(node, NodeProgram.SERVER).equals("none")) {
                System.out.printf("cut %d%n", (System.nanoTime() - changedNs) / 1_000_000);
                cut = true;
            }
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    private static void readOn(LmrHandle stamp, AtomicBoolean silent) {
        byte[] bytes = new byte[Math.toIntExact(stamp.size())];
        while (true) {
            boolean before = silent.get();
            try {
                stamp.read(0, bytes);
                if (before && silent.compareAndSet(true, false)) {
                    System.out.println("reads continue");
                }
            } catch (LiteException e) {
                // the server is not just silent
            }
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    private static void printMemory(LmrHandle stamp, byte[] written) {
        byte[] read = new byte[written.length];
        try {
            stamp.read(0, read);
            System.out.println(Arrays.equals(read, written) ? "memory kept" : "memory: other bytes");
        } catch (LiteException e) {
            System.out.println("memory: " + e);
        }
    }

    private static void require(boolean holds, String what, Object... values) {
        if (!holds) {
            throw new IllegalStateException(what + " " + Arrays.toString(values));
        }
    }
}
