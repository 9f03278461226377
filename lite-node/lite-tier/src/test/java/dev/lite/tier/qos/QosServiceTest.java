package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.Priority;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.cluster.qos.QosPolicy.Quota;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.Admission;
import dev.lite.tier.RemoteMemory;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Ticks and permits come from the test; nothing waits. */
class QosServiceTest {
    private static final long TICK_NS = 20_000_000;
    private static final Deadline NOW = Deadline.in(Duration.ZERO);

    private final RemoteMemory all = memory("all");
    private final RemoteMemory highLanes = memory("high");
    private final RemoteMemory lowLanes = memory("low");
    private Optional<String> noLanes = Optional.empty();
    private final AtomicInteger gateChanges = new AtomicInteger();
    /** Runs with the next change of the gates. */
    private final AtomicReference<Runnable> withGates = new AtomicReference<>(() -> {});
    /** Each source of permits gives this once, at a refill by the test or by the service's own thread. */
    private volatile Batch batch = new Batch(0);

    /** Whether the next refill of a limit meets an error. */
    private final AtomicBoolean broken = new AtomicBoolean();

    /** Operations of high priority on mapped memory. */
    private volatile int copies;

    private volatile int runnable;

    private final QosService service = new QosService(
            new QosService.Transfers() {
                @Override
                public RemoteMemory all() {
                    return all;
                }

                @Override
                public RemoteMemory onLanesOf(QosPolicy policy, Priority priority) {
                    return priority == Priority.HIGH ? highLanes : lowLanes;
                }

                @Override
                public Optional<String> whyNoLanes() {
                    return noLanes;
                }
            },
            () -> {
                gateChanges.incrementAndGet();
                withGates.getAndSet(() -> {}).run();
            },
            rate -> new Permits() {
                private final AtomicReference<Batch> given = new AtomicReference<>(batch);

                @Override
                public long takeAll() {
                    if (broken.getAndSet(false)) {
                        throw new StackOverflowError("on purpose");
                    }
                    Batch next = batch;
                    return given.getAndSet(next) == next ? 0 : next.permits;
                }

                @Override
                public void setPerSecond(long perSecond) {
                    // the test gives the permits
                }
            },
            new Machine() {
                @Override
                public int processors() {
                    return 2;
                }

                @Override
                public int runnable() {
                    return runnable;
                }

                @Override
                public int underWay() {
                    return copies;
                }

                @Override
                public int highUnderWay() {
                    return copies;
                }
            });

    private static final class Batch {
        private final long permits;

        Batch(long permits) {
            this.permits = permits;
        }
    }

    private static RemoteMemory memory(String name) {
        return (RemoteMemory) Proxy.newProxyInstance(
                RemoteMemory.class.getClassLoader(),
                new Class<?>[] {RemoteMemory.class},
                (proxy, method, arguments) -> {
                    return switch (method.getName()) {
                        case "toString" -> name;
                        case "equals" -> proxy == arguments[0];
                        case "hashCode" -> name.hashCode();
                        default -> throw new UnsupportedOperationException(method.getName());
                    };
                });
    }

    @AfterEach
    void close() {
        service.close();
    }

    private static QosPolicy mode(Mode mode) {
        return QosPolicy.OFF.withMode(mode);
    }

    private void heavyHighLoad(SessionQos session, long fromNs) {
        Admission high = Objects.requireNonNull(session.admission(false));
        for (int tick = 1; tick <= 50; tick++) {
            for (int operation = 0; operation < 10; operation++) {
                high.end(false, 4096, System.nanoTime() - TICK_NS); // ten operations of one tick each: ten under way
            }
            service.tick(fromNs + tick * TICK_NS);
        }
    }

    @Test
    void withoutAPolicyNothingIsAskedAndNothingRuns() {
        SessionQos session = service.open("app", Priority.LOW);
        assertThat(session.admission(false)).isNull();
        assertThat(session.admission(true)).isNull();
        assertThat(session.isGated()).isFalse();
        assertThat(session.memory(true)).isSameAs(all);
    }

    @Test
    void theEndOfAPolicyRestoresWhatWasBefore() {
        SessionQos session = service.open("app", Priority.HIGH);
        service.set(mode(Mode.SW_PRI));
        assertThat(session.admission(false)).isNotNull();
        service.set(QosPolicy.OFF);
        assertThat(session.admission(false)).isNull();
        assertThat(session.memory(false)).isSameAs(all);
        assertThat(session.isGated()).isFalse();
        assertThat(gateChanges).hasValue(2);
    }

    @Test
    void aSessionOfLowPriorityHasNoHighPriority() {
        service.set(mode(Mode.HW_SEP));
        SessionQos session = service.open("app", Priority.LOW);
        assertThat(session.memory(false)).isSameAs(lowLanes);
        assertThat(session.admission(false)).isSameAs(session.admission(true));
    }

    @Test
    void lanesAreReservedByPriority() {
        service.set(mode(Mode.HW_SEP));
        SessionQos session = service.open("app", Priority.HIGH);
        assertThat(session.memory(false)).isSameAs(highLanes);
        assertThat(session.memory(true)).isSameAs(lowLanes);
    }

    @Test
    void withoutLanesTheOldPolicyStays() {
        service.set(mode(Mode.SW_PRI));
        noLanes = Optional.of("tcp has 1 lane to each node; reserving lanes needs at least 2");
        assertThatThrownBy(() -> service.set(mode(Mode.HW_SEP)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("mode is HW_SEP: tcp has 1 lane to each node; reserving lanes needs at least 2");
        assertThat(service.policy().mode()).isEqualTo(Mode.SW_PRI);
    }

    @Test
    void lowPriorityWaitsForPermitsWhileHighPriorityIsBusy() {
        service.set(mode(Mode.SW_PRI));
        SessionQos high = service.open("high", Priority.HIGH);
        SessionQos low = service.open("low", Priority.LOW);
        assertThat(low.isGated()).as("nothing limits it yet").isFalse();

        long fromNs = System.nanoTime() + 1_000_000_000L;
        heavyHighLoad(high, fromNs);

        assertThat(low.isGated()).as("mapped memory has no load").isFalse();
        Admission admission = Objects.requireNonNull(low.admission(false));
        assertThat(admission.isLimited(true)).isFalse();
        assertThat(admission.isLimited(false)).isTrue();
        assertThatThrownBy(() -> admission.take(false, 4096, NOW))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("low priority is limited to 65536 bytes per second now");
        assertThat(service.status().low().refused()).isEqualTo(1);
        assertThat(Objects.requireNonNull(high.admission(false)).isLimited(false))
                .isFalse();

        batch = new Batch(4096);
        service.tick(fromNs + 51 * TICK_NS);
        assertThat(admission.tryTake(false, 4096)).isTrue();
        assertThat(admission.tryTake(false, 4096)).as("the permits are used up").isFalse();
    }

    @Test
    void copiesOfLowPriorityAskWhileHighPriorityUsesTheProcessorsAndCopiesOfHighPriorityNeverDo() {
        service.set(mode(Mode.SW_PRI));
        SessionQos high = service.open("high", Priority.HIGH);
        SessionQos low = service.open("low", Priority.LOW);
        int before = gateChanges.get();
        long fromNs = System.nanoTime() + 1_000_000_000L;
        copies = 20;
        for (int tick = 1; tick <= 50; tick++) {
            service.tick(fromNs + tick * TICK_NS);
        }
        assertThat(low.isGated()).isTrue();
        assertThat(high.isGated()).isFalse();
        assertThat(service.open("late", Priority.HIGH).isGated()).isFalse();
        assertThat(service.open("late", Priority.LOW).isGated()).isTrue();
        assertThat(gateChanges).hasValue(before + 1);
        Admission admission = Objects.requireNonNull(low.admission(false));
        assertThat(admission.isLimited(true)).isTrue();
        assertThat(admission.isLimited(false)).as("no link has a load").isFalse();
        assertThat(service.status().lowMappedBytesPerSecondNow()).isEqualTo(Measure.LOW_MAPPED_BYTES_PER_SECOND);
        assertThat(Objects.requireNonNull(high.admission(true)).isLimited(true))
                .as("a view of low priority")
                .isTrue();
        copies = 0;
        for (int tick = 51; tick <= 150; tick++) {
            service.tick(fromNs + tick * TICK_NS);
        }
        assertThat(low.isGated()).isFalse();
    }

    @Test
    void applicationsThatCompeteForTheProcessorsAreLimitedAlikeAndOneAloneIsNot() {
        service.set(mode(Mode.SW_PRI));
        SessionQos first = service.open("first", Priority.HIGH);
        long fromNs = System.nanoTime() + 1_000_000_000L;
        copies = 20;
        runnable = 20;
        for (int tick = 1; tick <= 50; tick++) {
            service.tick(fromNs + tick * TICK_NS);
        }
        assertThat(first.isGated()).isFalse();

        SessionQos second = service.open("second", Priority.HIGH);
        int before = gateChanges.get();
        for (int tick = 51; tick <= 65; tick++) {
            service.tick(fromNs + tick * TICK_NS);
        }
        assertThat(gateChanges).hasValue(before + 1);
        for (SessionQos session : List.of(first, second, service.open("late", Priority.HIGH))) {
            assertThat(session.isGated()).isTrue();
        }
        Admission admission = Objects.requireNonNull(first.admission(false));
        assertThat(admission.isLimited(true)).isTrue();
        assertThat(admission.isLimited(false)).as("over a link").isFalse();
        assertThatThrownBy(() -> admission.take(true, 4096, NOW))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("each application of this priority is limited to 68719476736 bytes per second");

        service.set(QosPolicy.OFF);
        assertThat(first.isGated()).isFalse();
    }

    /** Nobody gives permits to a session that has ended. */
    @Test
    void anOperationThatWaitsForItsShareOfTheProcessorsContinuesWhenItsSessionEnds() {
        service.set(mode(Mode.SW_PRI));
        SessionQos first = service.open("first", Priority.HIGH);
        SessionQos second = service.open("second", Priority.HIGH);
        long fromNs = System.nanoTime() + 1_000_000_000L;
        copies = 20;
        runnable = 20;
        for (int tick = 1; tick <= 15; tick++) {
            service.tick(fromNs + tick * TICK_NS);
        }
        assertThat(second.isGated()).isTrue();
        Admission admission = Objects.requireNonNull(first.admission(false));
        Thread waiting =
                Thread.ofPlatform().daemon().start(() -> admission.take(true, 4096, Deadline.in(Duration.ofDays(1))));
        Waits.until("it waits", () -> waiting.getState() == Thread.State.TIMED_WAITING);

        first.close();

        Waits.join(waiting);
    }

    @Test
    void lowPriorityIsFreeAgainAfterHighPriorityEnded() {
        service.set(mode(Mode.SW_PRI));
        SessionQos high = service.open("high", Priority.HIGH);
        SessionQos low = service.open("low", Priority.LOW);
        long fromNs = System.nanoTime() + 1_000_000_000L;
        heavyHighLoad(high, fromNs);
        for (int tick = 51; tick < 150; tick++) {
            service.tick(fromNs + tick * TICK_NS);
        }
        assertThat(low.isGated()).isFalse();
        assertThat(Objects.requireNonNull(low.admission(false)).isLimited(false))
                .isFalse();
        assertThat(service.status().lowBytesPerSecondNow()).isZero();
    }

    /** Else its operations would wait for ever. */
    @Test
    void aPrincipalWithAQuotaStillGetsPermitsAfterTheThreadThatGivesThemMetAnError() {
        SessionQos batchJob = service.open("batch", Priority.HIGH);
        broken.set(true);
        service.set(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(1L << 20, null))));
        Waits.until("it has met the error", () -> !broken.get());
        batch = new Batch(1 << 20);
        Admission admission = Objects.requireNonNull(batchJob.admission(false));
        Waits.until("there are permits", () -> admission.tryTake(false, 8));
    }

    @Test
    void aQuotaLimitsItsPrincipalInEveryMode() {
        SessionQos batchJob = service.open("batch", Priority.HIGH);
        SessionQos other = service.open("other", Priority.HIGH);
        service.set(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(1L << 20, 100L))));
        assertThat(service.hasQuota("batch")).isTrue();
        assertThat(other.admission(false)).isNull();
        Admission admission = Objects.requireNonNull(batchJob.admission(false));
        assertThat(batchJob.isGated()).isTrue();
        assertThatThrownBy(() -> admission.take(false, 8, NOW))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("the quota of \"batch\": 1048576 bytes per second, 100 operations per second");
    }

    @Test
    void anOperationThatIsLargerThanTheQuotaBeginsAndTheNextOneWaits() {
        service.set(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(1L << 20, null))));
        Admission admission =
                Objects.requireNonNull(service.open("batch", Priority.HIGH).admission(false));
        batch = new Batch(10_000);
        service.tick(System.nanoTime());
        assertThat(admission.tryTake(false, 1 << 24)).isTrue();
        batch = new Batch(10_000);
        service.tick(System.nanoTime());
        assertThat(admission.tryTake(false, 8)).as("the debt is not paid yet").isFalse();
    }

    @Test
    void anOperationThatLowPriorityRefusesCostsNothingOfItsQuota() {
        service.set(mode(Mode.SW_PRI).withQuotas(Map.of("batch", new Quota(1L << 20, null))));
        SessionQos high = service.open("batch", Priority.HIGH);
        long fromNs = System.nanoTime() + 1_000_000_000L;
        heavyHighLoad(high, fromNs);
        batch = new Batch(1_000);
        service.tick(fromNs + 51 * TICK_NS);
        Admission other =
                Objects.requireNonNull(service.open("other", Priority.LOW).admission(false));
        assertThat(other.tryTake(false, 4096))
                .as("uses up the permits of low priority")
                .isTrue();

        Admission refused =
                Objects.requireNonNull(service.open("batch", Priority.LOW).admission(false));
        assertThatThrownBy(() -> refused.take(false, 64 << 20, NOW))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("low priority is limited");

        assertThat(Objects.requireNonNull(high.admission(false)).tryTake(false, 8))
                .isTrue();
    }

    @Test
    void thoseWhoWaitContinueWhenThePolicyEnds() {
        service.set(QosPolicy.OFF.withQuotas(Map.of("batch", new Quota(1L << 20, null))));
        Admission admission =
                Objects.requireNonNull(service.open("batch", Priority.HIGH).admission(false));
        service.set(QosPolicy.OFF);
        admission.take(false, 1 << 20, NOW);
    }

    /** The thread that follows the cluster's policy may come just then. */
    @Test
    void aPolicyThatComesWhileTheNodeClosesIsNotFollowed() {
        service.set(mode(Mode.SW_PRI));
        withGates.set(() -> service.set(mode(Mode.SW_PRI)));
        service.close();
        assertThat(service.policy()).isEqualTo(QosPolicy.OFF);
    }

    /** An operation that had begun may come to the queue after the end of its session. */
    @Test
    void aClosedSessionGetsNoClockAgain() {
        SessionQos session = service.open("app", Priority.HIGH);
        FairQueue queue = new FairQueue(cost -> true);
        assertThat(queue.tryEnter(session, 1)).isTrue();
        session.close();
        queue.forget(session);

        assertThat(queue.tryEnter(session, 1)).isTrue();
        assertThat(queue.enter(session, 1).isGranted()).isTrue();

        assertThat(Inside.field(queue, "clocks", Map.class).size()).isZero();
    }
}
