package dev.lite.boot.region;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.Permission;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.client.fake.FakeLite;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class LiteRegionTests {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(
                    AutoConfigurations.of(LiteClientAutoConfiguration.class, LiteRegionAutoConfiguration.class))
            .withPropertyValues("shop.name=shop", "shop.size=64MB");

    static class Counters implements AutoCloseable {
        final LmrHandle counters;

        @Nullable
        Long atTheEnd;

        @Autowired
        @LiteRegion(value = "${shop.name}/counters", size = "${shop.size}")
        @Nullable
        LmrHandle field;

        Counters(@LiteRegion(value = "${shop.name}/counters", size = "${shop.size}") LmrHandle counters) {
            this.counters = counters;
        }

        @Override
        public void close() {
            atTheEnd = counters.fetchAdd(0, 1);
        }
    }

    static class Reader {
        final LmrHandle table;

        Reader(@LiteRegion(value = "table", permissions = Permission.READ) LmrHandle table) {
            this.table = table;
        }
    }

    private static FakeLite session(org.springframework.context.ApplicationContext context) {
        return (FakeLite) context.getBean(Lite.class);
    }

    @Test
    void theFirstUseMapsAndNotTheInjection() {
        runner.withBean(Counters.class).run(context -> {
            LmrHandle counters = context.getBean(Counters.class).counters;
            assertThat(counters.name()).contains("shop/counters");
            assertThat(counters).hasToString("@LiteRegion shop/counters");
            assertThat(session(context).mappings).hasValue(0);
            assertThat(counters.fetchAdd(0, 1)).isEqualTo(5);
            assertThat(counters.fetchAdd(0, 1)).isEqualTo(5);
            assertThat(session(context).mappings).hasValue(1);
        });
    }

    @Test
    void equalInjectionPointsShareTheHandle() {
        runner.withBean(Counters.class).run(context -> {
            Counters counters = context.getBean(Counters.class);
            assertThat(counters.field).isSameAs(counters.counters);
        });
    }

    @Test
    void concurrentFirstUsesMapOnce() {
        FakeLite lite = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x")).knowing("a", 7);
        CountDownLatch release = new CountDownLatch(1);
        LazyHandle handle = new LazyHandle("a", () -> {
            LmrHandle mapped = lite.memory().map("a", Permission.READ);
            Waits.await(release);
            return mapped;
        });
        List<Long> ids = new CopyOnWriteArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 8; index++) {
            threads.add(Thread.ofPlatform().start(() -> ids.add(handle.id())));
        }
        Waits.until("every thread waits", () -> threads.stream().allMatch(LiteRegionTests::isWaiting));
        release.countDown();
        threads.forEach(Waits::join);
        assertThat(lite.mappings).hasValue(1);
        assertThat(ids).hasSize(8).containsOnly(7L);
    }

    @Test
    void everyConcurrentFirstUseThrowsTheErrorOfTheMapping() {
        CountDownLatch release = new CountDownLatch(1);
        NoClassDefFoundError error = new NoClassDefFoundError("a class of the application");
        LazyHandle handle = new LazyHandle("a", () -> {
            Waits.await(release);
            throw error;
        });
        List<Throwable> thrown = new CopyOnWriteArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 4; index++) {
            threads.add(Thread.ofPlatform().start(() -> thrown.add(catchThrowable(handle::id))));
        }
        Waits.until("every thread waits", () -> threads.stream().allMatch(LiteRegionTests::isWaiting));
        release.countDown();
        threads.forEach(Waits::join);
        assertThat(thrown).hasSize(4).containsOnly(error);
    }

    private static boolean isWaiting(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    @Test
    void theHandleIsUnmappedAfterTheBeansThatUseIt() {
        AtomicReference<FakeLite> lite = new AtomicReference<>();
        AtomicReference<Counters> bean = new AtomicReference<>();
        runner.withBean(Counters.class).run(context -> {
            lite.set(session(context));
            bean.set(context.getBean(Counters.class));
        });
        assertThat(bean.get().atTheEnd).isEqualTo(5);
        assertThat(lite.get().known("shop/counters").unmaps).hasValue(1);
    }

    static class Twice {
        final LmrHandle table;

        Twice(
                @LiteRegion(
                                value = "table",
                                permissions = {Permission.READ, Permission.READ})
                        LmrHandle table) {
            this.table = table;
        }
    }

    @Test
    void aPermissionMayBeNamedTwice() {
        runner.withBean(Twice.class)
                .withBean(Reader.class)
                .run(context ->
                        assertThat(context.getBean(Twice.class).table).isSameAs(context.getBean(Reader.class).table));
    }

    static class Pair {
        final List<LmrHandle> handles;

        Pair(@LiteRegion("left") LmrHandle left, @LiteRegion("right") LmrHandle right) {
            handles = List.of(left, right);
        }
    }

    /** A node that hangs keeps each unmap for the session's deadline. */
    @Test
    void theHandlesAreUnmappedAtTheSameTime() {
        FakeLite lite = new FakeLite(AttachOptions.to(Path.of("/tmp/x.sock"), "x"))
                .knowing("left", 7)
                .knowing("right", 8);
        CountDownLatch unmapping = new CountDownLatch(2);
        for (String name : List.of("left", "right")) {
            lite.known(name).whenUnmapping = () -> {
                unmapping.countDown();
                Waits.await(unmapping);
            };
        }
        runner.withBean(Lite.class, () -> lite).withBean(Pair.class).run(context -> {
            context.getBean(Pair.class)
                    .handles
                    .forEach(handle -> assertThat(handle.id()).isPositive());
            context.getBean(LiteRegions.class).close();
        });
        assertThat(lite.known("left").unmaps).hasValue(1);
        assertThat(lite.known("right").unmaps).hasValue(1);
    }

    @Test
    void anLmrWithoutASizeMustExist() {
        runner.withBean(Reader.class).run(context -> {
            LmrHandle table = context.getBean(Reader.class).table;
            assertThatThrownBy(table::size)
                    .isInstanceOf(LmrNotFoundException.class)
                    .hasMessage("no LMR has the name \"table\"; give its @LiteRegion a size to create it");
            FakeLite unused = session(context).knowing("table", 7);
            assertThat(table.id()).isEqualTo(7); // the failure does not stay
        });
    }

    @Test
    void aHandleThatWasNeverMappedIsNotMappedAfterItsEnd() {
        LazyHandle handle = new LazyHandle("a", () -> {
            throw new AssertionError("mapped");
        });
        handle.unmap();
        assertThatThrownBy(handle::id)
                .isInstanceOf(LmrFreedException.class)
                .hasMessage("the handle of LMR \"a\" was unmapped, because its context was closed");
        handle.unmap();
    }

    static class Unqualified {
        Unqualified(LmrHandle handle) {
            throw new AssertionError("injected " + handle);
        }
    }

    @Test
    void anInjectionPointWithoutTheAnnotationGetsNone() {
        runner.withBean(Unqualified.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("No qualifying bean of type 'dev.lite.api.LmrHandle'"));
    }

    @Test
    void anApplicationsOwnHandlesRemainApart() {
        LmrHandle own = new LazyHandle("own", () -> {
            throw new AssertionError("not used");
        });
        runner.withBean("own", LmrHandle.class, () -> own, definition -> definition.setDestroyMethodName(""))
                .withBean(Counters.class)
                .withBean(TakesOwn.class)
                .run(context -> {
                    assertThat(context.getBean(TakesOwn.class).handle).isSameAs(own);
                    assertThat(context.getBean(Counters.class).counters).isNotSameAs(own);
                });
    }

    static class TakesOwn {
        final LmrHandle handle;

        TakesOwn(LmrHandle handle) {
            this.handle = handle;
        }
    }

    static class BadSize {
        BadSize(@LiteRegion(value = "a", size = "big") LmrHandle handle) {
            throw new AssertionError("injected " + handle);
        }
    }

    static class NoSize {
        NoSize(@LiteRegion(value = "a", size = "0B") LmrHandle handle) {
            throw new AssertionError("injected " + handle);
        }
    }

    static class NoPermission {
        NoPermission(
                @LiteRegion(
                                value = "a",
                                permissions = {})
                        LmrHandle handle) {
            throw new AssertionError("injected " + handle);
        }
    }

    static class OthersWithoutSize {
        OthersWithoutSize(@LiteRegion(value = "a", defaultPermissions = Permission.READ) LmrHandle handle) {
            throw new AssertionError("injected " + handle);
        }
    }

    static class UnresolvedName {
        UnresolvedName(@LiteRegion("${no.such.property}") LmrHandle handle) {
            throw new AssertionError("injected " + handle);
        }
    }

    @Test
    void aBadAttributeFailsTheStart() {
        assertFails(BadSize.class, "the size \"big\" is not a data size such as 64MB");
        assertFails(NoSize.class, "LMR size is 0 bytes; it must be at least 1");
        assertFails(NoPermission.class, "it has no permission; at least one is needed");
        assertFails(OthersWithoutSize.class, "it has default permissions, which need a size");
        assertFails(UnresolvedName.class, "Could not resolve placeholder 'no.such.property'");
    }

    private void assertFails(Class<?> bean, String message) {
        runner.withBean(bean)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("@LiteRegion(")
                        .hasStackTraceContaining(message));
    }

    @Test
    void backsOffWithoutLtMemory() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LiteRegionAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("liteRegion"));
    }
}
