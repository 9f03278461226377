package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Priority;
import dev.lite.testing.Waits;
import dev.lite.tier.session.CallBook.Call;
import dev.lite.tier.session.CallBook.Function;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/**
 * One random history: threads of three applications call functions, at a node or at any, and send to two ports, while another thread interrupts them, closes and opens
 * servers, closes and attaches applications, and lets the calls of a node's applications pass the nodes for a while.
 */
final class ChannelHistory {
    private static final int STEPS = 150;
    private static final int CALLERS = 5;
    private static final int LAST_CALLS = 5;
    private static final long HISTORY_NS_MAX = Waits.seconds(1.5).toNanos();
    private static final Duration PULSE = Duration.ofMillis(5);
    private static final Duration AFTER_LOSS = Duration.ofMillis(100);

    private final Random random;
    private final Map<String, Path> sockets;
    private final BiConsumer<String, Boolean> passNodes;
    private final CallBook book = new CallBook();
    private final List<Function> functions = List.of(
            Function.of("n1", "first"),
            Function.of("n1", "second"),
            Function.of("n0", "third"),
            Function.of("n1", "third"));
    /** It is closed seldom, so a call that any node may execute finds one. */
    private final Function steady = functions.getLast();

    /** What is called: each function, and one of them at any node. */
    private final List<Function> targets = Stream.concat(
                    functions.stream(), Stream.of(Function.any(functions.get(2), steady)))
            .toList();

    private final List<Function> ports = List.of(Function.port("n0", "letters"), Function.port("n1", "letters"));
    /** Those that call. */
    private final AtomicReferenceArray<HistoryApp> apps = new AtomicReferenceArray<>(3);
    /** Those that serve: two at each node. */
    private final List<HistoryApp> serving = new ArrayList<>();

    private final Map<Function, List<HistoryService>> servers = new HashMap<>();
    private final List<HistoryCaller> callers = new ArrayList<>();
    private final List<String> steps = new ArrayList<>();
    private volatile boolean over;
    /** The nodes whose applications get no channels now. */
    private final Set<String> passing = new HashSet<>();

    private int attached;
    private long channelCalls;

    /**
     * @param sockets by node
     * @param passNodes says of a node whether the calls of all its applications must pass the nodes
     */
    ChannelHistory(Random random, Map<String, Path> sockets, BiConsumer<String, Boolean> passNodes) {
        this.random = random;
        this.sockets = sockets;
        this.passNodes = passNodes;
    }

    private HistoryApp attach(String node) {
        Path socket = sockets.get(node);
        if (socket == null) {
            throw new IllegalArgumentException(node);
        }
        return new HistoryApp("app-%d-at-%s".formatted(++attached, node), node, socket);
    }

    /**
     * Runs it, closes all, and checks what was called and executed.
     *
     * @param loseNode stops the node n1; or does nothing
     */
    void run(boolean losesNode, Runnable loseNode) {
        apps.set(0, attach("n0"));
        apps.set(1, attach("n0"));
        apps.set(2, attach("n1"));
        Stream.of("n0", "n0", "n1", "n1").forEach(node -> serving.add(attach(node)));
        everyFunction().forEach(function -> {
            servers.put(function, new ArrayList<>());
            function.closed().begin();
            open(function);
        });
        for (int i = 0; i < CALLERS; i++) {
            callers.add(new HistoryCaller(book, random.nextLong(), i % 2 == 0, apps, targets, ports));
        }
        Thread pulse = Thread.ofPlatform().start(this::pulse);
        callers.forEach(caller -> caller.thread.start());
        try {
            long endNs = System.nanoTime() + HISTORY_NS_MAX;
            for (int i = 0; i < STEPS && System.nanoTime() - endNs < 0; i++) {
                step();
            }
            if (losesNode) {
                loseN1(loseNode);
            }
            callers.forEach(HistoryCaller::stop);
            callers.forEach(caller -> Waits.join(caller.thread));
            Waits.until("every message arrives", () -> book.missing().isEmpty());
            if (!losesNode) {
                rest();
            }
            closeAll();
        } finally {
            over = true;
            callers.forEach(HistoryCaller::stop);
        }
        Waits.join(pulse);
        assertThat(book.finish()).as("%s; %s", book.outcomes(), steps).isEmpty();
    }

    private void pulse() {
        while (!over) {
            long beganNs = System.nanoTime();
            Waits.pass(PULSE);
            book.stalled(System.nanoTime() - beganNs - PULSE.toNanos());
        }
    }

    private void step() {
        List<Function> all = everyFunction().toList();
        Function function = all.get(random.nextInt(all.size()));
        List<HistoryService> its = servers(function);
        int what = random.nextInt(100);
        boolean hasOne = its.size() == 1; // then it has channels
        if (what < 50) {
            Waits.pass(Duration.ofNanos(random.nextInt(12_000_000)));
        } else if (what < 72) {
            callers.get(random.nextInt(CALLERS)).interrupts.interrupt();
        } else if (what < 80) {
            its.forEach(server -> server.interruptOne(random));
        } else if (what < 83) {
            passNodes(function.node());
        } else if (what < 96) {
            if (its.isEmpty() || (hasOne && random.nextInt(4) == 0)) {
                open(function);
            } else if (random.nextInt(function.equals(steady) ? 8 : hasOne ? 3 : 1) == 0) {
                close(function, its.get(random.nextInt(its.size())));
            }
        } else if (what < 98) {
            attachCallerAgain(random.nextInt(apps.length()));
        } else {
            attachServerAgain(random.nextInt(serving.size()));
        }
    }

    /** Or not any more. */
    private void passNodes(String node) {
        boolean pass = passing.add(node);
        if (!pass) {
            passing.remove(node);
        }
        steps.add("calls from %s %s".formatted(node, pass ? "pass the nodes" : "may have channels"));
        passNodes.accept(node, pass);
    }

    private Stream<Function> everyFunction() {
        return Stream.concat(functions.stream(), ports.stream());
    }

    private List<HistoryService> servers(Function function) {
        return servers.getOrDefault(function, List.of());
    }

    private void open(Function function) {
        List<HistoryApp> there =
                serving.stream().filter(app -> app.node.equals(function.node())).toList();
        HistoryApp app = there.get(random.nextInt(there.size()));
        steps.add("open %s by %s".formatted(function.name(), app));
        List<HistoryService> its = servers(function);
        its.add(
                function.isPort()
                        ? new HistoryPort(book, app, function, random)
                        : new HistoryServer(book, app, function, random));
        if (its.size() == 1) {
            function.closed().end();
        }
    }

    private void close(Function function, HistoryService server) {
        steps.add("close %s by %s".formatted(function.name(), server.app));
        function.closed().begin();
        end(server);
        server.awaitThreads();
        closed(function, server);
    }

    /** The function stays closed if that was its last server. */
    private void closed(Function function, HistoryService server) {
        servers(function).remove(server);
        if (!servers(function).isEmpty()) {
            function.closed().end();
        }
    }

    private void attachCallerAgain(int index) {
        HistoryApp old = apps.get(index);
        steps.add("end " + old);
        apps.set(index, attach(old.node));
        end(old);
    }

    private void end(HistoryService server) {
        book.closes("a server of %s by %s".formatted(server.function.name(), server.app), server::close);
    }

    private void end(HistoryApp app) {
        channelCalls += app.channelCalls();
        book.closes(app.toString(), app::close);
    }

    private void attachServerAgain(int index) {
        HistoryApp old = serving.get(index);
        steps.add("end " + old);
        List<HistoryService> its = everyFunction()
                .flatMap(function -> servers(function).stream())
                .filter(server -> server.app == old)
                .toList();
        // Also those that it has served: handlers of a server that was closed may still be under way.
        List<Function> served = everyFunction()
                .filter(function -> function.node().equals(old.node))
                .toList();
        served.forEach(function -> function.lost().begin());
        its.forEach(server -> {
            server.function.closed().begin();
            server.announceClose();
        });
        end(old);
        its.forEach(server -> {
            server.awaitThreads();
            closed(server.function, server);
        });
        served.forEach(function -> function.lost().end());
        serving.set(index, attach(old.node));
    }

    private void loseN1(Runnable lose) {
        steps.add("lose n1");
        book.nodeLost = true;
        everyApp().filter(app -> app.node.equals("n1")).forEach(app -> app.ending = true);
        everyServer().filter(server -> server.app.ending).forEach(server -> {
            server.function.closed().begin();
            server.announceClose();
        });
        lose.run();
        Waits.pass(AFTER_LOSS);
    }

    private Stream<HistoryService> everyServer() {
        return everyFunction().flatMap(function -> servers(function).stream());
    }

    private Stream<HistoryApp> everyApp() {
        return Stream.concat(Stream.of(0, 1, 2).map(apps::get), serving.stream());
    }

    /** Nobody calls any more: the functions can still be called, and nothing of the former calls is left. */
    private void rest() {
        List.copyOf(passing).forEach(this::passNodes);
        for (Function function : functions) {
            if (servers(function).isEmpty()) {
                open(function);
            }
        }
        for (int i = 0; i < apps.length(); i++) {
            HistoryApp app = apps.get(i);
            for (Function target : targets) {
                callAtRest(app, target, Priority.HIGH);
                long before = app.channelCalls();
                callAtRest(app, target, Priority.LOW);
                if (app.channelCalls() != before) {
                    book.wrong(
                            "calls of low priority of %s by %s went through a channel".formatted(target.name(), app));
                }
            }
            app.awaitRest();
        }
    }

    private void callAtRest(HistoryApp app, Function target, Priority priority) {
        for (int count = 0; count < LAST_CALLS; count++) {
            Call call = book.begin(app, target, CallBook.LONG, 1, false, priority, null);
            try {
                byte[] reply = app.client(call).call(call.request, call.deadline());
                book.returned(call, MemorySegment.ofArray(reply));
            } catch (RuntimeException e) {
                book.failed(call, e);
            }
        }
    }

    private void closeAll() {
        everyServer().forEach(HistoryService::announceClose);
        everyServer().filter(server -> random.nextBoolean()).forEach(this::end);
        everyApp().forEach(this::end);
        everyServer().forEach(HistoryService::awaitThreads);
    }

    long channelCalls() {
        return channelCalls;
    }

    @Override
    public String toString() {
        return "%d steps, %d calls through channels, slow: %s, %s"
                .formatted(steps.size(), channelCalls, book.slow(), book.outcomes());
    }
}
