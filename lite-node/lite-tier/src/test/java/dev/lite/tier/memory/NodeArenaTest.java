package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.os.OpenDirectory;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.tier.testing.ChildJvm;
import dev.lite.tier.testing.InDevShm;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeArenaTest {
    private static final long BYTES = 4 << 20;
    private static final int EXTENTS = 128;
    private static final int HEADER_BYTES = 320;
    private static final int AT_CRC = 320;

    @TempDir(factory = InDevShm.class)
    Path root;

    private ArenaConfig config() {
        return TestArena.config(root, BYTES, EXTENTS);
    }

    @Test
    void aNewArenaIsPrivatePreallocatedAndZero() throws IOException {
        try (NodeArena arena = NodeArena.open(config())) {
            assertThat(arena.isAdopted()).isFalse();
            assertThat(arena.size()).isEqualTo(BYTES);
            assertThat(arena.openCount()).isEqualTo(1);
            assertThat(arena.nodeId()).isEqualTo(-1);
            assertThat(arena.dataOffset() % 4096).isZero();
            assertThat(arena.controlOffset() + arena.peersMax() * NodeArena.CONTROL_BYTES)
                    .isLessThanOrEqualTo(arena.dataOffset());
            Path file = TestArena.file(root);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                    .isEqualTo("rw-------");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())))
                    .isEqualTo("rwx------");
            assertThat(((Number) Files.getAttribute(file, "unix:nlink")).intValue())
                    .isEqualTo(1);
            for (long at = arena.controlOffset(); at < arena.size(); at += 8) {
                assertThat(RawMemory.getLong(arena.address() + at)).isZero();
            }
        }
    }

    @Test
    void aReopenedArenaKeepsItsIdItsNodeIdAndItsBytes() {
        UUID id;
        try (NodeArena arena = NodeArena.open(config())) {
            id = arena.id();
            arena.setNodeId(3);
            RawMemory.putLong(arena.address() + arena.size() - 8, 4711);
        }
        try (NodeArena arena = NodeArena.open(config())) {
            assertThat(arena.isAdopted()).isTrue();
            assertThat(arena.id()).isEqualTo(id);
            assertThat(arena.nodeId()).isEqualTo(3);
            assertThat(arena.openCount()).isEqualTo(2);
            assertThat(RawMemory.getLong(arena.address() + arena.size() - 8)).isEqualTo(4711);
        }
    }

    @Test
    void aDirectoryThatOthersMayWriteToIsRefused() throws IOException {
        Path cluster = Files.createDirectory(root.resolve(config().cluster()));
        Files.setPosixFilePermissions(cluster, PosixFilePermissions.fromString("rwxrwxrwx"));
        refusedAsForeign("its mode is 0777");
    }

    @Test
    void aLinkInPlaceOfADirectoryOrOfTheArenaIsRefused() throws IOException {
        Path elsewhere = Files.createDirectory(root.resolve("elsewhere"));
        Path cluster = root.resolve(config().cluster());
        Files.createSymbolicLink(cluster, elsewhere);
        refusedAsForeign("it is no directory, or a link");
        Files.delete(cluster);

        NodeArena.open(config()).close();
        Path file = TestArena.file(root);
        Path moved = Files.move(file, root.resolve("moved"));
        Files.createSymbolicLink(file, moved);
        refusedAsForeign("it is no file, or a link");
        Files.delete(file);
        Files.createLink(file, moved);
        refusedAsForeign("it has 2 names");
    }

    @Test
    void aDirectoryThatIsExchangedAfterItsCheckIsNotUsed() throws IOException {
        Path directory = config().directory();
        try (OpenDirectory held = ArenaPath.prepare(root, directory)) {
            Files.writeString(directory.resolve("mine"), "mine");
            Path moved = Files.move(directory, root.resolve("moved"));
            Path evil = Files.createDirectory(root.resolve("evil"));
            Files.writeString(evil.resolve("arena"), "evil");
            Files.createSymbolicLink(directory, evil);
            assertThat(held.resolve("mine")).hasContent("mine");
            assertThat(held.resolve("arena")).doesNotExist();
            assertThatExceptionOfType(OsException.class)
                    .isThrownBy(() -> SharedMemory.openFile(held, "arena"))
                    .withMessageContaining("ENOENT");
            Files.createSymbolicLink(moved.resolve("arena"), evil.resolve("arena"));
            assertThatExceptionOfType(OsException.class)
                    .isThrownBy(() -> SharedMemory.openFile(held, "arena"))
                    .withMessageContaining("ELOOP");
            assertThatThrownBy(() -> held.resolve("../evil/arena")).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void anArenaThatOthersMayReadIsRefused() throws IOException {
        NodeArena.open(config()).close();
        Files.setPosixFilePermissions(TestArena.file(root), PosixFilePermissions.fromString("rw-r-----"));
        refusedAsForeign("its mode is 0640");
    }

    @Test
    void whatAnotherUserMadeBeforeIsRefused() throws IOException {
        Path self = Path.of("/proc/self");
        assumeTrue(Files.getAttribute(self, "unix:uid").equals(0), "only the superuser can give a directory away");
        Path cluster = Files.createDirectory(root.resolve(config().cluster()));
        Files.setAttribute(cluster, "unix:uid", 4711);
        refusedAsForeign("it belongs to user 4711");
        Files.setAttribute(cluster, "unix:uid", 0);
        Files.setAttribute(root, "unix:uid", 4711);
        refusedAsForeign("it belongs to user 4711");
        Files.setAttribute(root, "unix:uid", 0);

        NodeArena.open(config()).close();
        Files.setAttribute(TestArena.file(root), "unix:uid", 4711);
        refusedAsForeign("it belongs to user 4711");
    }

    @Test
    void aDirectoryThatCannotBeCreatedIsReportedWithThePropertyToSet() throws IOException {
        Path below = Files.createFile(root.resolve("file")).resolve("lite");
        ArenaConfig config = new ArenaConfig(below, "c", "n1", BYTES, EXTENTS, 4, ArenaConfig.Kept.AFTER_CRASH);
        assertThatExceptionOfType(ArenaException.class)
                .isThrownBy(() -> NodeArena.open(config).close())
                .withMessageContaining("cannot create the arena directory " + config.directory())
                .withMessageContaining("lite.node.arena.directory")
                .withMessageContaining("lite.embedded.arena-directory");
    }

    private void refusedAsForeign(String why) {
        assertThatExceptionOfType(ArenaException.class)
                .isThrownBy(() -> NodeArena.open(config()).close())
                .withMessageContaining("must belong to this node's user alone")
                .withMessageContaining(why);
    }

    @Test
    void aDamagedOrForeignFileIsRefusedWithAReasonAndNotChanged() throws IOException {
        refused(0, 1, false, "it is not an arena of LITE");
        refused(8, 2, true, "its format version is 2; this program reads version 1");
        refused(64, 0x7f, false, "its header fails its checksum");
        refused(AT_CRC, 1, false, "its header fails its checksum");
        refused(16, 1 << 20, true, "its header says 1048576 bytes, the file has 4194304");
        refused(4096 + 24, 1, false, "entry 0 of its extent table fails its checksum");
    }

    /** Overwrites four bytes. */
    private void refused(int at, int value, boolean checksumKept, String why) throws IOException {
        NodeArena.open(config()).close();
        Path file = TestArena.file(root);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            write(channel, at, value);
            if (checksumKept) {
                ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES);
                channel.read(header, 0);
                CRC32C crc = new CRC32C();
                crc.update(header.flip());
                write(channel, AT_CRC, (int) crc.getValue());
            }
        }
        refused(config(), why);
        Files.delete(file);
    }

    private static void write(FileChannel channel, long at, int value) throws IOException {
        channel.write(
                ByteBuffer.allocate(4)
                        .order(ByteOrder.nativeOrder())
                        .putInt(value)
                        .flip(),
                at);
    }

    private void refused(ArenaConfig config, String why) throws IOException {
        Path file = TestArena.file(root);
        byte[] before = Files.readAllBytes(file);
        assertThatExceptionOfType(ArenaException.class)
                .isThrownBy(() -> NodeArena.open(config).close())
                .withMessageContaining(file.toString())
                .withMessageContaining(why);
        assertThat(Arrays.mismatch(Files.readAllBytes(file), before)).isEqualTo(-1);
    }

    @Test
    void aConfigurationThatDoesNotMatchTheFileIsRefusedWithBothValues() throws IOException {
        NodeArena.open(config()).close();
        refused(
                TestArena.config(root, 8 << 20, EXTENTS),
                "it has 4194304 bytes, but lite.node.arena.size asks for 8388608");
        refused(
                TestArena.config(root, BYTES, 256),
                "it has 128 extents and 4 nodes, but the configuration asks for 256 and 4");
    }

    @Test
    void theArenaOfAnotherNodeOrClusterIsRefused() throws IOException {
        NodeArena.open(new ArenaConfig(root, "other", "n9", BYTES, EXTENTS, 4, ArenaConfig.Kept.ALWAYS))
                .close();
        Path here = TestArena.file(root);
        Files.createDirectories(here.getParent());
        Files.move(root.resolve("other").resolve("n9").resolve("arena"), here);
        refused(config(), "it belongs to node \"n9\" of cluster \"other\"");
    }

    @Test
    void aTruncatedOrEmptyFileIsRefused() throws IOException {
        NodeArena.open(config()).close();
        try (RandomAccessFile file = new RandomAccessFile(TestArena.file(root).toFile(), "rw")) {
            file.setLength(BYTES / 2);
        }
        refused(config(), "it is not an arena of LITE");
        Files.write(TestArena.file(root), new byte[0]);
        refused(config(), "");
    }

    @Test
    void anEntryThatPointsOutsideTheDataIsRefusedWithItsNumbers() throws IOException {
        try (NodeArena arena = NodeArena.open(config())) {
            arena.table().put(5, ExtentTable.State.ALLOCATED, 1, arena.dataOffset(), BYTES);
        }
        refused(config(), "entry 5 of its extent table says offset");
    }

    @Test
    void twoLmrsAtTheSameOffsetAreRefusedByTheAllocator() {
        try (NodeArena arena = NodeArena.open(config())) {
            long offset = arena.dataOffset();
            arena.table().put(5, ExtentTable.State.ALLOCATED, 1, offset, 8192);
            arena.table().put(9, ExtentTable.State.ALLOCATED, 2, offset + 4096, 4096);
            assertThatExceptionOfType(ArenaException.class)
                    .isThrownBy(() -> new ArenaAllocator(arena, "n0"))
                    .withMessageContaining("two LMRs at offset %d (entry 9".formatted(offset + 4096));
        }
    }

    @Test
    void aSecondNodeWithTheSameNameIsRefusedInThisAndAnotherProcess() {
        try (ChildJvm child = ChildJvm.start(ArenaHolder.class, root.toString())) {
            assertThat(child.line()).isEqualTo("open");
            assertRunsAlready();
        }
        // SIGKILL ended that process, so the name is free again.
        try (NodeArena arena = NodeArena.open(config())) {
            assertThat(arena.isAdopted()).isTrue();
            assertRunsAlready();
            assertThat(arena.openCount()).isEqualTo(2);
        }
    }

    private void assertRunsAlready() {
        assertThatExceptionOfType(ArenaException.class)
                .isThrownBy(() -> NodeArena.open(config()).close())
                .withMessageContaining("node \"n0\" of cluster \"test\" already runs on this host")
                .withMessageContaining(root.toString())
                .withMessageContaining("lite.node.name");
    }

    @Test
    void aLockFileThatWasRemovedBeforeItWasLockedIsNotTakenForThatOfTheNextProcess() throws IOException {
        ArenaConfig config = new ArenaConfig(root, "c", "n1", BYTES, EXTENTS, 4, ArenaConfig.Kept.AFTER_CRASH);
        FileChannel late;
        try (NodeArena first = NodeArena.open(config);
                OpenDirectory held = ArenaPath.prepare(root, config.directory())) {
            late = NodeArena.openLock(held, config);
            assertThat(first.isAdopted()).isFalse();
        }
        try (late;
                NodeArena next = NodeArena.open(config)) {
            assertThat(NodeArena.lock(late, config)).isNull();
            assertThat(late.isOpen()).isFalse();
            assertThat(next.isAdopted()).isFalse();
            assertThat(config.directory().resolve("lock")).exists();
        }
    }

    /** Holds an arena until it is killed. */
    static final class ArenaHolder {
        private ArenaHolder() {}

        @SuppressWarnings({"SystemOut", "MustBeClosedChecker"})
        public static void main(String[] arguments) throws IOException {
            NodeArena arena = NodeArena.open(TestArena.config(Path.of(arguments[0]), BYTES, EXTENTS));
            System.out.println("open");
            while (System.in.read() >= 0) {}
            arena.close();
        }
    }

    @Test
    void anArenaThatIsNotRetainedLeavesNothingBehind() throws IOException {
        Path below = root.resolve("lite");
        ArenaConfig first = new ArenaConfig(below, "c", "n1", BYTES, EXTENTS, 4, ArenaConfig.Kept.AFTER_CRASH);
        ArenaConfig second = new ArenaConfig(below, "c", "n2", BYTES, EXTENTS, 4, ArenaConfig.Kept.AFTER_CRASH);
        try (NodeArena one = NodeArena.open(first)) {
            NodeArena.open(second).close();
            assertThat(below.resolve("c").resolve("n2")).doesNotExist();
            assertThat(below.resolve("c").resolve("n1").resolve("arena")).exists();
            assertThat(one.isAdopted()).isFalse();
        }
        assertThat(below).doesNotExist();
    }

    @Test
    void anArenaThatIsNeverKeptHasNoNameEvenWhileItIsOpen() {
        Path below = root.resolve("lite");
        ArenaConfig config = new ArenaConfig(below, "c", "n1", BYTES, EXTENTS, 4, ArenaConfig.Kept.NEVER);
        try (NodeArena one = NodeArena.open(config);
                NodeArena other = NodeArena.open(config)) {
            assertThat(root).isEmptyDirectory();
            assertThat(one.isAdopted()).isFalse();
            assertThat(one.size()).isEqualTo(BYTES);
            assertThat(other.id()).isNotEqualTo(one.id());
            assertThat(Path.of("/proc/self/fd/" + one.descriptor())).hasSize(BYTES);
        }
        assertThat(root).isEmptyDirectory();
        ArenaConfig tooLarge = new ArenaConfig(below, "c", "n1", 1L << 50, EXTENTS, 4, ArenaConfig.Kept.NEVER);
        assertThatExceptionOfType(ArenaException.class)
                .isThrownBy(() -> NodeArena.open(tooLarge).close())
                .withMessageContaining("of %d bytes in %s: ".formatted(1L << 50, root))
                .withMessageContaining("ENOSPC");
    }

    @Test
    void anArenaLargerThanTwoGibibytesIsUsableToItsLastByte() {
        long bytes = (2L << 30) + (64 << 20);
        try (NodeArena arena =
                NodeArena.open(new ArenaConfig(root, "test", "n0", bytes, 4096, 4, ArenaConfig.Kept.AFTER_CRASH))) {
            ArenaAllocator allocator = new ArenaAllocator(arena, "n0");
            ExtentRun whole = allocator.allocate(1, allocator.dataBytes(), 1, 1).getFirst();
            assertThat(whole.offset() + whole.length()).isEqualTo(bytes);
            long last = arena.address() + bytes - 8;
            assertThat(RawMemory.getLong(last)).isZero();
            RawMemory.putLong(last, 1);
            RawMemory.putLong(arena.address() + (2L << 30), 2);
            assertThat(arena.segment().get(java.lang.foreign.ValueLayout.JAVA_LONG, bytes - 8))
                    .isEqualTo(1);
            assertThat(arena.segment().get(java.lang.foreign.ValueLayout.JAVA_LONG, 2L << 30))
                    .isEqualTo(2);
        }
    }

    @Test
    void tooLittleMemoryIsRefusedWithNeededAndFreeBytesAndLeavesNoFile() throws IOException {
        long free = Files.getFileStore(root).getUsableSpace();
        long tooMuch = free + (8L << 30);
        Path below = root.resolve("lite");
        assertThatExceptionOfType(ArenaException.class)
                .isThrownBy(() -> NodeArena.open(
                                new ArenaConfig(below, "test", "n0", tooMuch, 4096, 4, ArenaConfig.Kept.ALWAYS))
                        .close())
                .withMessageContaining(below.resolve("test/n0/arena").toString())
                .withMessageContaining("of %d bytes".formatted(Math.ceilDiv(tooMuch, 4096L) * 4096))
                .withMessageContaining("ENOSPC")
                .withMessageContaining("Free space on its file system: ");
        assertThat(below).doesNotExist();
    }

    @Test
    void tablesThatLeaveNoRoomForDataAreRefusedBeforeAnyFileIsCreated() {
        Path below = root.resolve("lite");
        assertThatThrownBy(() -> NodeArena.open(
                                new ArenaConfig(below, "test", "n0", BYTES, 200_000, 4, ArenaConfig.Kept.ALWAYS))
                        .close())
                .isInstanceOf(ArenaException.class)
                .hasMessageContaining(
                        "the arena size is 4194304 bytes, but its tables for 200000 extents and 4 nodes take");
        assertThat(below).doesNotExist();
    }

    @Test
    void anIncompleteFileOfAKilledProcessIsNotAdopted() throws IOException {
        Path file = TestArena.file(root);
        Files.createDirectories(file.getParent());
        Files.write(file.resolveSibling("arena.new"), new byte[100]);
        try (NodeArena arena = NodeArena.open(config())) {
            assertThat(arena.isAdopted()).isFalse();
        }
        assertThat(file.resolveSibling("arena.new")).doesNotExist();
    }

    @Test
    void valuesOutOfRangeAreRefusedByNameBeforeAnyFileIsCreated() {
        assertThatThrownBy(() -> TestArena.config(root, 1, EXTENTS)).hasMessageContaining("at least 4194304");
        assertThatThrownBy(() -> TestArena.config(root, BYTES, 1)).hasMessageContaining("at least 64");
        assertThatThrownBy(() -> new ArenaConfig(root, "c", "n", BYTES, EXTENTS, 0, ArenaConfig.Kept.ALWAYS))
                .hasMessageContaining("1 to 1024");
        assertThatThrownBy(() -> new ArenaConfig(root, "c", "../n", BYTES, EXTENTS, 4, ArenaConfig.Kept.ALWAYS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"../n\"");
        assertThatThrownBy(() -> new ArenaConfig(root, "..", "n", BYTES, EXTENTS, 4, ArenaConfig.Kept.ALWAYS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"..\"");
        assertThatThrownBy(() -> new ArenaConfig(root, "c", "n".repeat(64), BYTES, EXTENTS, 4, ArenaConfig.Kept.ALWAYS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("63");
    }
}
