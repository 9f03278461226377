package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.NameRules;
import dev.lite.tier.NameRules.Use;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A principal that is limited to names below {@code mallory/}, and may call {@code shop/price}, attacks the names of another one. */
class NamespacesTest {
    private static final MemorySegment BYTE = MemorySegment.ofArray(new byte[1]);

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private Lite shop;
    private Lite mallory;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider());
        LiteNode node = cluster.start(cluster.config("n0").toBuilder()
                .names(Map.of(
                        "mallory", NameRules.of(List.of("mallory/**"), Map.of(Use.CALL, List.of("shop/price"))),
                        "shop", NameRules.of(List.of("shop/**"), Map.of())))
                .build());
        shop = node.attach("shop");
        mallory = node.attach("mallory");
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static LmrSpec open(String name) {
        return LmrSpec.of(64).withName(name).withDefaultPermissions(Permission.READ, Permission.WRITE);
    }

    /** What mallory may not do with a name. */
    private Map<String, Consumer<String>> attacks() {
        return Map.ofEntries(
                Map.entry("malloc", name -> mallory.memory().malloc(open(name))),
                Map.entry(
                        "register", name -> mallory.memory().register(open(name), MemorySegment.ofArray(new byte[64]))),
                Map.entry("createOrMap", name -> mallory.memory().createOrMap(open(name), Permission.READ)),
                Map.entry("map", name -> mallory.memory().map(name, Permission.READ)),
                Map.entry("lock", name -> mallory.sync().lock(name)),
                Map.entry("barrier", name -> mallory.sync().barrier(name, 2).await(Waits.seconds(20))),
                Map.entry("serve", name -> mallory.rpc().serve(name)),
                Map.entry("register a handler", name -> mallory.rpc().register(name, 1, call -> call.request())),
                Map.entry("messages", name -> mallory.rpc().messages(name)),
                Map.entry("send", name -> mallory.rpc().send("n0", name, BYTE, Waits.seconds(20))),
                Map.entry("bind", name -> mallory.rpc().bind("n0", name)),
                Map.entry("bindAny", name -> mallory.rpc().bindAny(name)),
                Map.entry("call", name -> mallory.rpc().call("n0", name, new byte[1], Waits.seconds(20))),
                Map.entry("callAny", name -> mallory.rpc().callAny(name, new byte[1], Waits.seconds(20))));
    }

    @Test
    void namesOfOthersAreRefusedWithTheSameAnswerWhetherTheyExistOrNot() {
        shop.memory().malloc(open("shop/there"));
        shop.sync().lock("shop/there");
        shop.rpc().serve("shop/there");
        shop.rpc().messages("shop/there");
        attacks().forEach((attack, on) -> {
            String there = refusal(attack, on, "shop/there");
            String gone = refusal(attack, on, "shop/gone");
            assertThat(gone).as(attack).isEqualTo(there.replace("shop/there", "shop/gone"));
        });
    }

    private static String refusal(String attack, Consumer<String> on, String name) {
        Throwable[] thrown = new Throwable[1];
        assertThatThrownBy(() -> on.accept(name))
                .as(attack)
                .isInstanceOf(LmrPermissionException.class)
                .hasMessageContaining("\"mallory\" may not")
                .satisfies(refused -> thrown[0] = refused);
        return String.valueOf(thrown[0].getMessage());
    }

    @Test
    void theIdOfANamedLmrIsNoWayAroundItsName() {
        long id = shop.memory().malloc(open("shop/there")).id();
        assertThatThrownBy(() -> mallory.memory().map(id, Permission.READ)).isInstanceOf(LmrNotFoundException.class);
    }

    @Test
    void ownNamesAndThoseOfAFurtherPatternWorkAsBefore() {
        shop.rpc().register("shop/price", 1, call -> call.request());
        assertThat(mallory.rpc().call("n0", "shop/price", new byte[] {7}, Waits.seconds(20)))
                .containsExactly(7);
        assertThatThrownBy(() -> mallory.rpc().serve("shop/price")).isInstanceOf(LmrPermissionException.class);
        mallory.memory().createOrMap(open("mallory/data"), Permission.READ).unmap();
        mallory.memory().malloc(LmrSpec.of(64)).free();
        mallory.sync().lock("mallory/data").acquire(Waits.seconds(20)).close();
        try (Lite unlimited = cluster.node(0).attach("other")) {
            unlimited.memory().map("mallory/data", Permission.READ).unmap();
        }
    }
}
