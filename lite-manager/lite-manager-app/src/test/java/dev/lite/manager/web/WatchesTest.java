package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.Orders;
import dev.lite.cluster.qos.QosChange;
import dev.lite.cluster.qos.QosRecord;
import dev.lite.testing.Waits;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The watches on orders and on the policy, after reads that failed with an error. */
class WatchesTest {
    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final AtomicInteger failures = new AtomicInteger(2);

    /** A directory whose first reads fail with an error. */
    private ClusterDirectory failing(ClusterDirectory directory) {
        return (ClusterDirectory) Proxy.newProxyInstance(
                WatchesTest.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("read") && failures.getAndDecrement() > 0) {
                        throw new StackOverflowError("of this test");
                    }
                    try {
                        return method.invoke(directory, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static WebProperties properties() {
        var second = Waits.seconds(1);
        return new WebProperties(
                null, null, List.of(), Waits.seconds(5), new WebProperties.Events(1, 1, 1, second, second));
    }

    @Test
    void theWatchOfTheOrdersSurvivesAnError() {
        try (InMemoryDirectory directory = store.open();
                OrderWatch watch = new OrderWatch(failing(directory), properties())) {
            watch.start();
            Waits.until("both errors", () -> failures.get() <= 0);
            assertThat(new Orders(directory).rebalance(Waits.seconds(5)).id()).isEqualTo(1);
            Waits.until("the order is seen", () -> watch.open() == 1);
        }
    }

    @Test
    void theWatchOfThePolicySurvivesAnError() {
        List<Long> revisions = new CopyOnWriteArrayList<>();
        try (InMemoryDirectory directory = store.open();
                QosWatch watch = new QosWatch(failing(directory), properties())) {
            watch.start(revision -> revisions.add(revision.revision()));
            Waits.until("both errors", () -> failures.get() <= 0);
            assertThat(new QosRecord(directory)
                            .change(QosChange.ofMode("sw-pri"), Waits.seconds(5))
                            .revision())
                    .isEqualTo(1);
            Waits.until("the policy is seen", () -> revisions.contains(1L));
        }
    }
}
