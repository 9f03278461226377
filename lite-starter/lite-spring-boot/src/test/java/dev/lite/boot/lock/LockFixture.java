package dev.lite.boot.lock;

import dev.lite.api.LtSync;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.client.fake.FakeSync;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The auto-configuration of locks, with locks in memory. */
final class LockFixture {
    final FakeSync sync = new FakeSync(() -> true, () -> {});
    final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteLockAutoConfiguration.class))
            .withBean("fakeSync", LtSync.class, () -> sync)
            .withPropertyValues("lite.client.deadline=7s", "shop.name=acme", "shop.wait=250ms");
}
