package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.testing.Waits;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class MrWorkerTest {

    /** Each stage that a session gives stays in its memory until it ends. */
    @Test
    void aWorkerAsksItsSessionOnceForItsEnd() {
        try (TestCluster cluster = TestCluster.start(1, 32 << 20)) {
            AtomicInteger asked = new AtomicInteger();
            AtomicInteger registrations = new AtomicInteger(); // each begins with an LMR, and fails: there is no master
            Lite session = cluster.embedded(0);
            Lite lite = (Lite) Proxy.newProxyInstance(
                    Lite.class.getClassLoader(), new Class<?>[] {Lite.class}, (self, method, arguments) -> {
                        switch (method.getName()) {
                            case "ended" -> asked.incrementAndGet();
                            case "memory" -> registrations.incrementAndGet();
                            default -> {}
                        }
                        return method.invoke(session, arguments);
                    });
            MrWorker worker = cluster.keep(MrWorker.start(lite, WorkerOptions.of(TestCluster.GROUP)));
            Waits.until("some rounds", () -> registrations.get() >= 3);
            assertThat(asked).hasValue(1);
            session.close();
            Waits.join(Thread.ofVirtual().start(worker::join));
        }
    }
}
