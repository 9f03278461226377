package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.data.Percentage.withPercentage;

import dev.lite.tier.qos.ProcessorShares.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Applications that copy memory on two processors, which divide their time by threads, as a kernel does. There is no clock and no
 * thread: each tick, the model computes what everyone gets.
 */
class ProcessorSharesTest {
    private static final double PROCESSORS = 2;
    private static final double TICK_SECONDS = 0.02;
    private static final int STEPS = 50;
    private static final int TICKS = 600;
    /** The averages are of so many last ticks. */
    private static final int LAST = 200;

    private final ProcessorShares shares = new ProcessorShares();
    private final List<Application> applications = new ArrayList<>();
    private int otherThreads;

    /** Gives all permits of a tick at once. */
    private static final class TickPermits implements Permits {
        private long perSecond;

        TickPermits(long perSecond) {
            this.perSecond = perSecond;
        }

        @Override
        public void setPerSecond(long newPerSecond) {
            perSecond = newPerSecond;
        }

        @Override
        public long takeAll() {
            return (long) (perSecond * TICK_SECONDS);
        }
    }

    private static final class Application {
        final Share share = new Share(TickPermits::new);
        private final Account account = new Account(share.limiter, this);
        final int threads;
        final double bytesPerSecond;
        double wants;
        /** In this tick. */
        double got;

        boolean waits;
        /** In the last ticks. */
        double bytes;

        /**
         * @param bytesPerSecond what a processor copies for it
         * @param wants bytes per second that it wants
         */
        Application(int threads, double bytesPerSecond, double wants) {
            this.threads = threads;
            this.bytesPerSecond = bytesPerSecond;
            this.wants = wants;
        }

        void begin() {
            share.limiter.refill();
            got = 0;
            waits = false;
        }

        boolean isRunnable() {
            return !waits && got < wants * TICK_SECONDS;
        }

        void run(double seconds) {
            double more = Math.min(seconds * bytesPerSecond, wants * TICK_SECONDS - got);
            if (account.tryTake((long) more)) {
                got += more;
            } else {
                waits = true;
            }
        }
    }

    private Application application(int threads, double bytesPerSecond) {
        return application(threads, bytesPerSecond, Double.MAX_VALUE);
    }

    private Application application(int threads, double bytesPerSecond, double wants) {
        Application made = new Application(threads, bytesPerSecond, wants);
        applications.add(made);
        return made;
    }

    /** Divides the time of a tick among threads; returns how many threads wanted a processor on average. */
    private double divide() {
        applications.forEach(Application::begin);
        double wanted = 0;
        for (int step = 0; step < STEPS; step++) {
            List<Application> runnable =
                    applications.stream().filter(Application::isRunnable).toList();
            int threads = otherThreads
                    + runnable.stream().mapToInt(one -> one.threads).sum();
            double each = Math.min(1, PROCESSORS / Math.max(1, threads)) * TICK_SECONDS / STEPS;
            runnable.forEach(one -> one.run(each * one.threads));
            wanted += (double) threads / STEPS;
        }
        return wanted;
    }

    private void run(int ticks) {
        applications.forEach(one -> one.bytes = 0);
        List<Share> all = applications.stream().map(one -> one.share).toList();
        for (int tick = 0; tick < ticks; tick++) {
            double wanted = divide();
            if (tick >= ticks - LAST) {
                applications.forEach(one -> one.bytes += one.got);
            }
            boolean unused = shares.tick(all, wanted / PROCESSORS, TICK_SECONDS);
        }
    }

    private double total() {
        return applications.stream().mapToDouble(one -> one.bytes).sum();
    }

    /** What all get while nothing is limited; ends the limit. */
    private double unlimitedTotal() {
        List<Share> all = applications.stream().map(one -> one.share).toList();
        boolean unusedToo = shares.end(all);
        double unused = divide();
        return applications.stream().mapToDouble(one -> one.got * LAST).sum();
    }

    private void assertEqualBytes() {
        double mean = total() / applications.size();
        assertThat(applications)
                .extracting(one -> one.bytes / mean)
                .allSatisfy(share -> assertThat(share).isBetween(0.8, 1.25));
    }

    @Test
    void tenApplicationsGetTheSameBytesWhateverTheirThreadsAndTheSizeOfTheirOperations() {
        IntStream.range(0, 10).forEach(index -> application(1 + index % 4, (10 + 5 * (index % 5)) * 1e9));
        run(TICKS);
        assertThat(shares.isOn()).isTrue();
        assertEqualBytes();
    }

    @Test
    void theyDoSoBesideOtherProcesses() {
        IntStream.range(0, 10).forEach(index -> application(1 + index % 4, 20e9));
        otherThreads = 8;
        run(TICKS);
        assertEqualBytes();
        assertThat(total()).isGreaterThan(0.7 * unlimitedTotal());
    }

    @Test
    void anApplicationThatNeedsLittleGetsItAndDoesNotSlowTheOthersBesideOtherProcesses() {
        application(4, 20e9);
        application(4, 20e9);
        Application little = application(1, 20e9, 1e9);
        otherThreads = 8;
        run(TICKS);
        assertThat(little.bytes).isGreaterThan(0.95 * 1e9 * LAST * TICK_SECONDS);
        assertThat(total()).isGreaterThan(0.8 * unlimitedTotal());
    }

    @Test
    void anApplicationThatNeedsLittleGetsItAndTheOthersTheRest() {
        Application many = application(8, 20e9);
        Application few = application(2, 20e9);
        Application little = application(1, 20e9, 2e9);
        run(TICKS);
        assertThat(little.bytes).isGreaterThan(0.95 * 2e9 * LAST * TICK_SECONDS);
        assertThat(few.bytes / many.bytes).isBetween(0.8, 1.25);
        assertThat(total()).isGreaterThan(0.85 * unlimitedTotal());
    }

    @Test
    void nothingIsLimitedWhileProcessorsAreFree() {
        application(1, 20e9, 5e9);
        application(4, 20e9, 10e9);
        run(TICKS);
        assertThat(shares.isOn()).isFalse();
        assertThat(total()).isCloseTo(unlimitedTotal(), withPercentage(1));
    }

    @Test
    void nothingIsLimitedForOneApplicationAlone() {
        application(20, 20e9);
        run(TICKS);
        assertThat(shares.isOn()).isFalse();
    }

    @Test
    void theLimitEndsWhenTheOthersStop() {
        application(8, 20e9);
        Application other = application(2, 20e9);
        run(TICKS);
        assertThat(shares.isOn()).isTrue();
        other.wants = 0;
        run(TICKS);
        assertThat(total()).isGreaterThan(0.95 * unlimitedTotal());
    }

    @Test
    void applicationsThatPauseWhileTheyAreMeasuredAreNotHeldBackAfterwards() {
        Application first = application(8, 20e9);
        Application second = application(2, 20e9);
        while (!shares.isOn()) {
            run(1);
        }
        first.wants = 0;
        second.wants = 0;
        run(20);
        first.wants = Double.MAX_VALUE;
        second.wants = Double.MAX_VALUE;
        run(LAST);
        assertThat(total()).isGreaterThan(0.85 * unlimitedTotal());
    }

    @Test
    void endingTheLimitFreesAll() {
        application(8, 20e9);
        application(2, 20e9);
        run(TICKS);
        List<Share> all = applications.stream().map(one -> one.share).toList();
        assertThat(shares.end(all)).isTrue();
        assertThat(shares.isOn()).isFalse();
        assertThat(all).noneMatch(share -> share.limiter.isLimited());
        assertThat(shares.end(all)).isFalse();
    }
}
