package dev.lite.tier.session;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrLongs;
import dev.lite.api.LmrStructs;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.session.MappedWords.Kind;
import dev.lite.tier.testing.InDevShm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link LmrLongs} and {@link LmrStructs} over handles of each kind. */
class WordViewsTest {
    /** 20 bytes with an alignment of 8: an element takes 24. */
    private static final MemoryLayout ACCOUNT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("number"),
            ValueLayout.JAVA_LONG.withName("balance"),
            ValueLayout.JAVA_INT.withName("flags"));

    private static final VarHandle NUMBER = ACCOUNT.varHandle(groupElement("number"));
    private static final VarHandle BALANCE = ACCOUNT.varHandle(groupElement("balance"));
    private static final VarHandle FLAGS = ACCOUNT.varHandle(groupElement("flags"));

    @TempDir(factory = InDevShm.class)
    private Path root;

    private MappedWords words;

    @BeforeEach
    void start() {
        words = new MappedWords(root, new ShmFabricProvider());
    }

    @AfterEach
    void stop() {
        words.close();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void elementsOfAnArrayAreTheWordsOfTheHandle(Kind kind) {
        LmrHandle handle = words.handle(kind, 84);
        LmrLongs longs = LmrLongs.of(handle, 16, 8);
        longs.set(7, -5);
        assertThat(handle.getLong(16 + 7 * 8)).isEqualTo(-5);
        assertThat(longs.get(7)).isEqualTo(-5);
        assertThat(longs.getAndAdd(7, 2)).isEqualTo(-5);
        assertThat(longs.getAndSet(7, 9)).isEqualTo(-3);
        assertThat(longs.compareAndSet(7, 8, 10)).isFalse();
        assertThat(longs.compareAndSet(7, 9, 10)).isTrue();
        assertThat(handle.fetchAdd(longs.offset(7), 0)).isEqualTo(10);
        assertThat(LmrLongs.of(handle).length()).isEqualTo(10);
        assertThat(LmrLongs.of(handle).get(9)).isEqualTo(10);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aRangeOfAnArrayIsReadAndWrittenAtOnce(Kind kind) {
        LmrLongs longs = LmrLongs.of(words.handle(kind, 1 << 20));
        long[] source = new long[100_000];
        for (int index = 0; index < source.length; index++) {
            source[index] = ~index;
        }
        longs.write(1_000, source);
        long[] destination = new long[300];
        longs.read(1_100, destination, 100, 200);
        assertThat(destination[99]).isZero();
        assertThat(destination[100]).isEqualTo(~100);
        assertThat(destination[299]).isEqualTo(~299);
        assertThat(longs.get(999)).isZero();
        assertThat(longs.get(101_000)).isZero();
        longs.write(0, source, 5, 1);
        assertThat(longs.get(0)).isEqualTo(~5);
        assertThat(longs.get(1)).isZero();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anElementOfStructsIsReadAndWrittenAndItsFieldsAreWords(Kind kind) {
        LmrHandle handle = words.handle(kind, 8 + 24 * 3 + 20);
        LmrStructs accounts = LmrStructs.of(handle, 8, 3, ACCOUNT);
        assertThat(accounts.stride()).isEqualTo(24);
        assertThat(accounts.offset(2, groupElement("balance"))).isEqualTo(8 + 2 * 24 + 8);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment account = arena.allocate(ACCOUNT);
            NUMBER.set(account, 0L, 77L);
            BALANCE.set(account, 0L, 100L);
            FLAGS.set(account, 0L, 3);
            accounts.write(2, account);
            assertThat(handle.getAndAdd(accounts.offset(2, groupElement("balance")), 11))
                    .isEqualTo(100);
            assertThat(handle.getAndAddInt(accounts.offset(2, groupElement("flags")), 1))
                    .isEqualTo(3);
            accounts.read(2, account);
            assertThat((long) NUMBER.get(account, 0L)).isEqualTo(77);
            assertThat((long) BALANCE.get(account, 0L)).isEqualTo(111);
            assertThat((int) FLAGS.get(account, 0L)).isEqualTo(4);
            accounts.read(1, account);
            assertThat((long) NUMBER.get(account, 0L)).isZero();
        }
    }

    @Test
    void anIndexOutsideAnArrayIsRefusedWithItsLength() {
        LmrHandle handle = words.handle(Kind.EMBEDDED, 100);
        LmrLongs longs = LmrLongs.of(handle, 8, 10);
        for (long index : new long[] {-1, 10, Long.MAX_VALUE}) {
            assertThatThrownBy(() -> longs.get(index))
                    .isInstanceOf(LmrBoundsException.class)
                    .hasMessageStartingWith("element %d of LmrLongs over ".formatted(index))
                    .hasMessageEndingWith("it has 10 elements");
        }
        assertThatThrownBy(() -> longs.write(9, new long[2]))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageStartingWith("2 elements from element 9 of LmrLongs over ")
                .hasMessageEndingWith("it has 10 elements");
        assertThatThrownBy(() -> longs.read(Long.MAX_VALUE, new long[2])).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> longs.read(0, new long[2], 1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        longs.write(10, new long[0]);
        assertThat(handle.getLong(0)).isZero();
        assertThat(handle.getLong(88)).isZero();
    }

    @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
    private static <T> T none() {
        return null;
    }

    @Test
    void aNullIsRefusedWithTheNameOfItsParameter() {
        LmrHandle handle = words.handle(Kind.EMBEDDED, 100);
        LmrLongs longs = LmrLongs.of(handle);
        LmrStructs structs = LmrStructs.of(handle, ACCOUNT);
        assertNull("handle", () -> LmrLongs.of(none()));
        assertNull("handle", () -> LmrLongs.of(none(), 0, 1));
        assertNull("handle", () -> LmrStructs.of(none(), ACCOUNT));
        assertNull("handle", () -> LmrStructs.of(none(), 0, 1, ACCOUNT));
        assertNull("layout", () -> LmrStructs.of(handle, none()));
        assertNull("layout", () -> LmrStructs.of(handle, 0, 1, none()));
        assertNull("destination", () -> longs.read(0, none()));
        assertNull("destination", () -> longs.read(0, none(), 0, 1));
        assertNull("source", () -> longs.write(0, none()));
        assertNull("source", () -> longs.write(0, none(), 0, 1));
        assertNull("destination", () -> structs.read(0, none()));
        assertNull("source", () -> structs.write(0, none()));
    }

    private static void assertNull(String parameter, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(NullPointerException.class).hasMessage(parameter);
    }

    @Test
    void aRangeOutsideAnArrayOfTheCallerIsRefusedWithItsLength() {
        LmrLongs longs = LmrLongs.of(words.handle(Kind.EMBEDDED, 100));
        for (int from : new int[] {-1, 1, Integer.MAX_VALUE}) {
            assertThatThrownBy(() -> longs.read(0, new long[2], from, 2))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("2 elements from element %d of destination, which has 2 elements".formatted(from));
            assertThatThrownBy(() -> longs.write(0, new long[2], from, 2))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("2 elements from element %d of source, which has 2 elements".formatted(from));
        }
    }

    @Test
    void aPartThatIsNotAlignedOrNotInTheLmrIsRefused() {
        LmrHandle handle = words.handle(Kind.EMBEDDED, 100);
        assertThatThrownBy(() -> LmrLongs.of(handle, 4, 1))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageContaining("offset 4")
                .hasMessageContaining("multiple of 8");
        assertThatThrownBy(() -> LmrLongs.of(handle, 8, 12))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageContaining("12 elements of 8 bytes at offset 8")
                .hasMessageContaining("100 bytes");
        assertThatThrownBy(() -> LmrLongs.of(handle, -8, 1)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> LmrLongs.of(handle, 104, 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> LmrLongs.of(handle, 0, Long.MAX_VALUE)).isInstanceOf(LmrBoundsException.class);
        assertThat(LmrLongs.of(handle, 8, 11).length()).isEqualTo(11);
        assertThatThrownBy(() -> LmrStructs.of(handle, 4, 1, ACCOUNT)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> LmrStructs.of(handle, 8, 4, ACCOUNT))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageContaining("4 elements of 24 bytes at offset 8");
    }

    @Test
    void aStructOfAnotherSizeOrAnUnknownFieldIsRefused() {
        LmrStructs accounts = LmrStructs.of(words.handle(Kind.EMBEDDED, 100), ACCOUNT);
        assertThat(accounts.length()).isEqualTo(4);
        assertThatThrownBy(() -> accounts.read(0, MemorySegment.ofArray(new byte[24])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("24 bytes")
                .hasMessageContaining("has 20");
        assertThatThrownBy(() -> accounts.offset(0, groupElement("owner")))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> accounts.offset(4, groupElement("number")))
                .isInstanceOf(LmrBoundsException.class)
                .hasMessageContaining("element 4 of LmrStructs");
        assertThatThrownBy(() -> LmrStructs.of(words.handle(Kind.EMBEDDED, 8), MemoryLayout.structLayout()))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
