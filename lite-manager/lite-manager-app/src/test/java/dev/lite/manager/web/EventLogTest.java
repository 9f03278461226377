package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.springframework.web.ErrorResponseException;

class EventLogTest {
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final EventLog log = new EventLog("abc", new WebProperties.Events(2, 3, 5, SECOND, SECOND));

    @Test
    void aNewSubscriberGetsTheStateAndThenTheEvents() throws InterruptedException {
        log.publish("nodes", "joined a", List.of("a"));
        log.publish("nodes", "joined b", List.of("a", "b"));
        log.publish("note", "said once", null);

        EventQueue queue = log.subscribe(null, "client");
        log.publish("nodes", "left a", List.of("b"));

        List<ClusterEvent> received = drain(queue);
        assertThat(received).extracting(ClusterEvent::type).containsExactly("state", "nodes");
        assertThat(received.getFirst().data()).isEqualTo(Map.of("nodes", List.of("a", "b")));
        assertThat(log.idOf(received.getFirst())).isEqualTo("abc-3");
        assertThat(log.idOf(received.getLast())).isEqualTo("abc-4");
    }

    @Test
    void aReturningSubscriberGetsTheMissedEventsExactlyOnce() throws InterruptedException {
        for (int number = 1; number <= 7; number++) {
            log.publish("note", number, null);
        }

        assertThat(drain(log.subscribe("abc-5", "client")))
                .extracting(ClusterEvent::number)
                .containsExactly(6L, 7L);
        assertThat(drain(log.subscribe("abc-7", "client"))).isEmpty();
    }

    @Test
    void anOldOrForeignIdStartsWithTheState() throws InterruptedException {
        for (int number = 1; number <= 7; number++) {
            log.publish("note", number, null);
        }
        // The history has 3 to 7, so a subscriber that has 2 misses nothing.
        for (String id : new String[] {"abc-1", "abc-8", "abd-5", "abc-", "abc--5", "abc-x", "x", ""}) {
            EventQueue queue = log.subscribe(id, "client");
            assertThat(drain(queue)).as(id).extracting(ClusterEvent::type).containsExactly("state");
            log.unsubscribe(queue);
        }
        assertThat(drain(log.subscribe("abc-2", "client"))).hasSize(5);
    }

    @Test
    void aSlowSubscriberIsDisconnectedWhenItsQueueIsFullAndOthersAreNot() throws InterruptedException {
        EventQueue slow = log.subscribe(null, "client");
        EventQueue quick = log.subscribe(null, "client");
        List<ClusterEvent> received = new ArrayList<>(drain(quick));
        for (int number = 1; number <= 5; number++) {
            log.publish("note", number, null);
            received.addAll(drain(quick));
        }

        assertThat(log.subscribers()).isEqualTo(1);
        assertThat(drain(slow)).extracting(ClusterEvent::number).containsExactly(0L, 1L, 2L, 3L);
        assertThat(slow.isDone()).isTrue();
        assertThat(received).extracting(ClusterEvent::number).containsExactly(0L, 1L, 2L, 3L, 4L, 5L);
        assertThat(drain(log.subscribe("abc-3", "client")))
                .extracting(ClusterEvent::number)
                .containsExactly(4L, 5L);
    }

    @Test
    void theNumberOfSubscribersIsLimited() {
        EventQueue first = log.subscribe(null, "client");
        log.subscribe(null, "client");
        assertThatThrownBy(() -> log.subscribe(null, "client"))
                .isInstanceOf(ErrorResponseException.class)
                .hasMessageContaining("there are 2 subscribers of events; the limit is 2");
        log.unsubscribe(first);
        log.unsubscribe(first);
        assertThat(log.subscribe(null, "client").isDone()).isFalse();
    }

    @Test
    void closingEndsExistingAndNewStreams() throws InterruptedException {
        EventQueue before = log.subscribe(null, "client");
        log.close();
        assertThat(before.isDone()).isTrue();
        assertThat(before.poll(Duration.ofHours(1))).isEmpty();
        assertThat(log.subscribe(null, "client").isDone()).isTrue();
    }

    private static List<ClusterEvent> drain(EventQueue queue) throws InterruptedException {
        List<ClusterEvent> events = new ArrayList<>();
        for (Optional<ClusterEvent> next = queue.poll(Duration.ZERO);
                next.isPresent();
                next = queue.poll(Duration.ZERO)) {
            events.add(next.get());
        }
        return events;
    }
}
