package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.fabric.AddressRange;
import dev.lite.tier.memory.BlankMappings;
import dev.lite.tier.memory.HandleOwner;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.MappingOwner;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Changes that meet the loss of the node's registration in each order. */
class MappingTableTest {
    private static final int ALL = MemoryService.ALL_PERMISSIONS;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(64, 64);
    private final LmrRecord lmr = new LmrRecord(
            7,
            LmrRecord.State.LIVE,
            64,
            62,
            0,
            Map.of(),
            List.of(new Share(0, UUID.randomUUID(), List.of(new Run(0, 64, 0)))));
    private final long[] places = Layout.places(lmr, node -> memory.address());
    private final AtomicBoolean lost = new AtomicBoolean();
    private final MappingTable table = new MappingTable(lost::get);

    @AfterEach
    void close() {
        arena.close();
    }

    private Mapping mapping(Class<? extends MappingOwner> kind) {
        MappingOwner owner = (MappingOwner)
                Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (self, method, arguments) -> {
                    if (method.getName().equals("isGated") || method.getName().equals("isCounted")) {
                        return false;
                    }
                    throw new AssertionError("not called: " + method);
                });
        Mapping mapping = Mapping.open(new BlankMappings(), lmr, null, ALL, places, owner);
        assertThat(table.add(mapping, table.now())).isTrue();
        return mapping;
    }

    private void lose() {
        lost.set(true);
        table.changeAll().forEach(Mapping::pause);
    }

    @Test
    void aChangeThatEndsWhileTheRegistrationIsLostResumesNoHandle() {
        Mapping handle = mapping(HandleOwner.class);
        long since = table.losses();
        handle.pause(); // the change
        lose();

        assertThat(table.resume(handle, lmr, places, ALL, since, table.unmappings()))
                .isFalse();
        assertThat(handle.isPaused()).isTrue();
    }

    @Test
    void aChangeByARecordThatWasReadBeforeTheLossResumesNoHandleAfterTheRejoinEither() {
        Mapping handle = mapping(HandleOwner.class);
        long since = table.losses();
        handle.pause();
        lose();
        lost.set(false);

        assertThat(table.resume(handle, lmr, places, ALL, since, table.unmappings()))
                .isFalse();
        assertThat(handle.isPaused()).isTrue();
        assertThat(table.resume(handle, lmr, places, ALL, table.losses(), table.unmappings()))
                .isTrue();
        assertThat(handle.isPaused()).isFalse();
    }

    @Test
    void theWordOfALockStaysUsable() {
        Mapping word = mapping(MappingOwner.class);
        long since = table.losses();
        word.pause();
        lose();

        assertThat(table.resume(word, lmr, places, ALL, since, table.unmappings()))
                .isTrue();
        assertThat(word.isPaused()).isFalse();
    }

    private AddressRange whole() {
        return new AddressRange(memory.address(), memory.byteSize());
    }

    @Test
    void anUnmappingFindsTheMappingsWithAPartThere() {
        Mapping handle = mapping(HandleOwner.class);
        Mapping word = mapping(MappingOwner.class);

        assertThat(table.unmap(new AddressRange(memory.address() + memory.byteSize(), 8)))
                .isEmpty();
        assertThat(table.unmap(whole())).containsExactlyInAnyOrder(handle, word);
        handle.pause();
        long[] outside = handle.placesOutside(whole());
        assertThat(table.resume(handle, lmr, outside, ALL, table.losses(), table.unmappings()))
                .isTrue();
        assertThat(handle.isOneMappedExtent()).isFalse();
        assertThat(table.unmap(whole())).containsExactly(word);
    }

    @Test
    void placesFromBeforeAnUnmappingAreNotUsed() {
        Mapping handle = mapping(HandleOwner.class);
        handle.pause();
        long placed = table.unmappings();
        List<Mapping> unused = table.unmap(whole());

        assertThat(table.resume(handle, lmr, places, ALL, table.losses(), placed))
                .isFalse();
        assertThat(handle.isPaused()).isTrue();
    }

    @Test
    void aMappingFromBeforeAnUnmappingIsNotAdded() {
        Mapping first = mapping(HandleOwner.class);
        long since = table.now();
        table.remove(first);
        List<Mapping> unused = table.unmap(whole());

        assertThat(table.add(first, since)).isFalse();
        assertThat(table.size()).isZero();
    }
}
