package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import org.junit.jupiter.api.Test;

/**
 * Ten applications and a link, in simulated time: a transfer waits in the fair queue, then behind those in the link, and the
 * thread begins its next one some time after its end, as on a busy machine.
 */
class FairLinkTest {
    private static final long LINK_BYTES_PER_SECOND = 5_000_000;
    private static final long NS_PER_BYTE = 1_000_000_000 / LINK_BYTES_PER_SECOND;
    private static final long WAKE_UP_NS = 4_000_000;
    private static final long END_NS = 20_000_000_000L;
    private static final long PIECE = BytesLimit.LEAST / 2;

    private record Event(long atNs, Runnable what) {}

    private static final class Application {
        long served;
    }

    private final PriorityQueue<Event> events = new PriorityQueue<>(Comparator.comparingLong(Event::atNs));
    private final List<Waiting> waiting = new ArrayList<>();
    private long nowNs;
    private long linkFreeNs;
    private long inLink;
    private final FairQueue queue = new FairQueue(cost -> {
        if (inLink >= BytesLimit.LEAST) {
            return false;
        }
        inLink += cost;
        return true;
    });

    private record Waiting(Application application, long bytes, FairQueue.Ticket ticket) {}

    private void begin(Application application, long bytes) {
        waiting.add(new Waiting(application, bytes, queue.enter(application, Flow.cost(bytes))));
        takeGranted();
    }

    private void takeGranted() {
        for (Waiting one : List.copyOf(waiting)) {
            if (one.ticket.isGranted()) {
                waiting.remove(one);
                linkFreeNs = Math.max(nowNs, linkFreeNs) + one.bytes * NS_PER_BYTE;
                events.add(new Event(linkFreeNs, () -> end(one)));
            }
        }
    }

    private void end(Waiting one) {
        one.application.served += one.bytes;
        inLink -= Flow.cost(one.bytes);
        events.add(new Event(nowNs + WAKE_UP_NS, () -> begin(one.application, one.bytes)));
        queue.pump();
        takeGranted();
    }

    @Test
    void anApplicationWithOneThreadAndShortTransfersGetsItsPartOfALinkOnABusyMachine() {
        List<Application> all = new ArrayList<>();
        for (int index = 0; index < 10; index++) {
            Application application = new Application();
            all.add(application);
            long bytes = Math.min(PIECE, 4096L << (index % 5));
            for (int thread = 0; thread < 1 + index % 4; thread++) {
                events.add(new Event(0, () -> begin(application, bytes)));
            }
        }
        while (nowNs < END_NS) {
            Event next = events.remove();
            nowNs = next.atNs();
            next.what().run();
        }
        double mean = all.stream().mapToLong(one -> one.served).average().orElseThrow();
        assertThat(mean).as("the link is busy").isGreaterThan(0.95 * LINK_BYTES_PER_SECOND * END_NS / 1e9 / all.size());
        for (int index = 0; index < all.size(); index++) {
            assertThat(all.get(index).served / mean).as("application %d", index).isBetween(0.8, 1.25);
        }
    }
}
