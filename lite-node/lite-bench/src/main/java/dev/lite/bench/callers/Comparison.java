package dev.lite.bench.callers;

import dev.lite.bench.load.Workload;
import dev.lite.bench.load.Workload.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;

/**
 * Rows that are measured alternately.
 *
 * @param title for the table
 */
record Comparison(String title, List<Row> rows) {
    private static final String ATTACHED_SHM = "LITE attached shm";
    private static final String CHANNEL = "LITE attached channel";
    private static final String TCP_CHANNEL = "LITE attached tcp channel";
    private static final String ATTACHED_TCP = "LITE attached tcp";
    private static final String EMBEDDED_SHM = "LITE embedded shm";
    private static final String EMBEDDED_TCP = "LITE embedded tcp";
    private static final String ATTACHED_TCP_PLAIN = "LITE attached tcp plain";
    private static final String EMBEDDED_TCP_PLAIN = "LITE embedded tcp plain";
    private static final String RING = "bare ring";
    private static final String SOCKETS = "sockets";
    private static final String POLLING_SOCKETS = "sockets, polling";
    private static final String LOCK = "fair ReentrantLock";
    private static final String AERON = "Aeron IPC";
    private static final String SPINNING_AERON = "Aeron IPC, spinning";
    private static final String GRPC = "gRPC";
    private static final String REDIS = "Redis";
    private static final String HAZELCAST = "Hazelcast";
    private static final int SMALL = 64;
    private static final int LARGE = 4096;
    private static final int VERY_LARGE = 1 << 20;
    private static final int UNDER_WAY = 32;

    /** All comparisons, in an order that lets contenders end early. */
    static List<Comparison> all() {
        List<Comparison> all = new ArrayList<>();
        calls(all);
        functions(all);
        locks(all);
        onThreads(all, "reads", threads -> Workload.reads(threads, SMALL));
        onThreads(all, "adds", Workload::adds);
        large(all, Kind.READ);
        large(all, Kind.WRITE);
        outstanding(all, Kind.READ);
        outstanding(all, Kind.WRITE);
        outstanding(all, Kind.CALL);
        return all;
    }

    private static void calls(List<Comparison> all) {
        all.add(of(
                "calls-1",
                Workload.calls(1),
                CHANNEL,
                ATTACHED_SHM,
                TCP_CHANNEL,
                ATTACHED_TCP,
                EMBEDDED_SHM,
                EMBEDDED_TCP,
                RING,
                AERON,
                SPINNING_AERON,
                POLLING_SOCKETS,
                SOCKETS,
                GRPC,
                HAZELCAST));
        all.add(of(
                "calls-8",
                Workload.calls(8),
                CHANNEL,
                ATTACHED_SHM,
                TCP_CHANNEL,
                ATTACHED_TCP,
                EMBEDDED_SHM,
                EMBEDDED_TCP,
                AERON,
                SPINNING_AERON,
                SOCKETS,
                GRPC,
                HAZELCAST));
        all.add(of("calls-16", Workload.calls(16), EMBEDDED_SHM, AERON, SPINNING_AERON, SOCKETS));
        all.add(of(
                "calls-16-virtual",
                Workload.calls(16).onVirtualThreads(),
                CHANNEL,
                ATTACHED_SHM,
                TCP_CHANNEL,
                ATTACHED_TCP,
                EMBEDDED_TCP,
                SOCKETS));
    }

    /** Servers with several functions, one caller. */
    private static void functions(List<Comparison> all) {
        for (boolean handlers : new boolean[] {false, true}) {
            List<Row> rows = new ArrayList<>();
            for (int functions : new int[] {1, 2, 16}) {
                Workload workload = Workload.calls(1).withFunctions(functions, handlers);
                rows.add(new Row(EMBEDDED_SHM, workload));
                rows.add(new Row(CHANNEL, workload));
                rows.add(new Row(ATTACHED_SHM, workload));
                rows.add(new Row(TCP_CHANNEL, workload));
                rows.add(new Row(ATTACHED_TCP, workload));
                rows.add(new Row(EMBEDDED_TCP, workload));
            }
            all.add(new Comparison(handlers ? "functions-handlers" : "functions-receive", rows));
        }
        all.add(of(
                "functions-8-callers", Workload.calls(8).withFunctions(2, false), CHANNEL, ATTACHED_SHM, EMBEDDED_SHM));
        all.add(of(
                "handlers-8-callers",
                Workload.calls(8).withFunctions(2, true),
                CHANNEL,
                ATTACHED_SHM,
                TCP_CHANNEL,
                ATTACHED_TCP,
                EMBEDDED_SHM,
                EMBEDDED_TCP,
                GRPC));
    }

    /** One thread beside eight. */
    private static void onThreads(List<Comparison> all, String title, IntFunction<Workload> workload) {
        List<Row> rows = new ArrayList<>();
        for (String contender : List.of(ATTACHED_SHM, ATTACHED_TCP, EMBEDDED_TCP, SOCKETS, REDIS, HAZELCAST)) {
            rows.add(new Row(contender, workload.apply(1)));
            rows.add(new Row(contender, workload.apply(8)));
        }
        all.add(new Comparison(title, rows));
    }

    private static void large(List<Comparison> all, Kind kind) {
        all.add(of(
                kind.name().toLowerCase(Locale.ROOT) + "s-large",
                Workload.outstanding(kind, 1, VERY_LARGE),
                ATTACHED_SHM,
                ATTACHED_TCP,
                ATTACHED_TCP_PLAIN,
                EMBEDDED_TCP,
                EMBEDDED_TCP_PLAIN,
                SOCKETS));
    }

    /** Asynchronous operations beside the same ones one at a time, and beside those of others. */
    private static void outstanding(List<Comparison> all, Kind kind) {
        List<Row> rows = new ArrayList<>();
        for (int bytes : new int[] {SMALL, LARGE}) {
            boolean calls = kind == Kind.CALL;
            List<String> ours = calls
                    ? List.of(TCP_CHANNEL, ATTACHED_TCP, EMBEDDED_TCP, CHANNEL, EMBEDDED_SHM)
                    : List.of(ATTACHED_TCP, EMBEDDED_TCP);
            for (String contender : ours) {
                rows.add(new Row(contender, Workload.outstanding(kind, 1, bytes)));
                rows.add(new Row(contender, Workload.outstanding(kind, UNDER_WAY, bytes)));
            }
            if (!calls) { // as the others: not encrypted
                rows.add(new Row(ATTACHED_TCP_PLAIN, Workload.outstanding(kind, UNDER_WAY, bytes)));
                rows.add(new Row(EMBEDDED_TCP_PLAIN, Workload.outstanding(kind, UNDER_WAY, bytes)));
            }
            List<String> others = calls
                    ? List.of(SOCKETS, GRPC, HAZELCAST, AERON, SPINNING_AERON)
                    : List.of(SOCKETS, REDIS, HAZELCAST);
            for (String contender : others) {
                rows.add(new Row(contender, Workload.outstanding(kind, UNDER_WAY, bytes)));
            }
        }
        all.add(new Comparison("async-" + kind.name().toLowerCase(Locale.ROOT), rows));
    }

    private static void locks(List<Comparison> all) {
        for (int threads : new int[] {2, 8, 16}) {
            all.add(of("locks-" + threads, Workload.locks(threads), ATTACHED_SHM, EMBEDDED_SHM, LOCK, HAZELCAST));
        }
    }

    private static Comparison of(String title, Workload workload, String... contenders) {
        List<Row> rows = new ArrayList<>();
        for (String contender : contenders) {
            rows.add(new Row(contender, workload));
        }
        return new Comparison(title, rows);
    }
}
