package dev.lite.client.reattach;

import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.NodeUnreachableException;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** An application with re-attachment, at a node that the test starts and stops. */
abstract class ReattachingCases {
    static final Duration LONG = Waits.seconds(30);
    static final Duration SHORT = Duration.ofMillis(150);
    static final byte[] BYTES = new byte[8];

    final List<FakeLite> sessions = new CopyOnWriteArrayList<>();
    volatile boolean nodeIsUp = true;
    volatile long idOfA = 7;
    volatile boolean attachesSlowly;
    /** The only thread that can attach, or null. */
    volatile @Nullable Thread attachesBy;

    volatile boolean attaches;
    volatile int refusedRegistrations;
    final Queue<Error> registrationErrors = new ConcurrentLinkedQueue<>();
    volatile String nodeName = "fake-1";
    volatile Runnable whenMapping = () -> {};
    volatile Runnable whenRegistering = () -> {};
    /** How many of the next sessions end at once, and their node with them. */
    final AtomicInteger shortSessions = new AtomicInteger();

    final Queue<Thread> attemptsToAttach = new ConcurrentLinkedQueue<>();
    final ReattachingLite lite = open(LONG);

    ReattachingLite open(Duration deadline) {
        return open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(deadline));
    }

    ReattachingLite open(AttachOptions wanted) {
        return ReattachingLite.attach(wanted, options -> {
            attemptsToAttach.add(Thread.currentThread());
            Thread only = attachesBy;
            if (!nodeIsUp || (only != null && only != Thread.currentThread())) {
                throw new NodeUnreachableException("nobody listens");
            }
            if (attachesSlowly) {
                attaches = true;
                Waits.pass(Duration.ofMillis(20));
            }
            FakeLite attached = new FakeLite(options).knowing("a", idOfA);
            attached.nodeName = nodeName;
            attached.whenMapping = whenMapping;
            attached.rpc().refusals.set(refusedRegistrations);
            Error error = registrationErrors.poll();
            if (error != null) {
                attached.rpc().errors.add(error);
            }
            attached.rpc().whenRegistering = whenRegistering;
            sessions.add(attached);
            if (shortSessions.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                nodeIsUp = false;
                attached.lose();
                attached.ended().toCompletableFuture().join();
            }
            return sessions.getLast();
        });
    }
}
