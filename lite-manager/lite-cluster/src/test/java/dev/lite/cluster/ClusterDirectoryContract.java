package dev.lite.cluster;

import dev.lite.testing.Waits;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;

/** The contract of a directory. A subclass supplies the directory and its faults. */
abstract class ClusterDirectoryContract
        implements RecordCases, MembershipCases, EpochCases, DirectoryFaultCases, FunctionCases {
    static final Duration DEADLINE = Waits.seconds(20);
    static final int RACERS = 8;

    private final List<ClusterDirectory> opened = new ArrayList<>();
    private final List<Runnable> keepers = new ArrayList<>();

    /** Opens another session with the cluster of this test. */
    abstract ClusterDirectory openSession();

    /** Starts a leading manager; closing the result stops it. */
    abstract Runnable startKeeper();

    @Override
    public final ClusterDirectory open() {
        ClusterDirectory directory = openSession();
        opened.add(directory);
        return directory;
    }

    @Override
    public final void keepEpochs() {
        keepers.add(startKeeper());
    }

    @Override
    public final void stopKeepers() {
        keepers.forEach(Runnable::run);
        keepers.clear();
    }

    @AfterEach
    void closeSessions() {
        stopKeepers();
        opened.forEach(ClusterDirectory::close);
    }

    static NodeAdvert advert(String name) {
        return new NodeAdvert(
                name, NodeAdvert.NO_ID, "host-of-" + name + "/boot", 1 << 20, Map.of("shm", "/x/" + name));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static List<String> namesOf(List<NodeRecord> nodes) {
        return nodes.stream().map(NodeRecord::name).toList();
    }

    interface Racer<T> {
        T run(int racer);
    }

    /** The results of all racers, which start together. */
    static <T> List<T> race(Racer<T> racer) {
        try (ExecutorService threads = Executors.newFixedThreadPool(RACERS)) {
            List<Future<T>> running = IntStream.range(0, RACERS)
                    .mapToObj(number -> threads.submit(() -> racer.run(number)))
                    .toList();
            List<T> results = new ArrayList<>();
            for (Future<T> future : running) {
                results.add(future.get());
            }
            return results;
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError("a racer failed", e);
        }
    }
}
