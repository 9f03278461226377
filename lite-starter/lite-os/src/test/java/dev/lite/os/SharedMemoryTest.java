package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("it checks that the numbers of closed descriptors are unused")
class SharedMemoryTest {
    private static final long MIB = 1 << 20;

    @TempDir(factory = InDevShm.class)
    Path directory;

    @Test
    void aMemfdIsZeroedAndSharedByAllMappingsOfItsDescriptor() throws IOException {
        try (var memory = SharedMemory.createMemfd("lite-test", MIB);
                var other = SharedMemory.openFile(throughProc(memory))) {
            assertThat(memory.size()).isEqualTo(MIB);
            assertThat(memory.segment().byteSize()).isEqualTo(MIB);
            assertThat(memory.segment().address()).isEqualTo(memory.address());
            assertThat(memory.address() % Linux.pageSize()).isZero();
            assertThat(memory.segment().mismatch(MemorySegment.ofArray(new byte[(int) MIB])))
                    .isEqualTo(-1);
            memory.segment().set(JAVA_LONG, MIB - 8, 42);
            assertThat(other.segment().get(JAVA_LONG, MIB - 8)).isEqualTo(42);
            assertThat(Files.readString(Path.of("/proc/self/maps"))).contains("/memfd:lite-test");
        }
    }

    @Test
    void aMemfdCanNeitherShrinkNorGrowNorBeSealedFurther() {
        try (var memory = SharedMemory.createMemfd("lite-test", MIB)) {
            assertErrno(Errno.EPERM, () -> MemoryCalls.truncate(memory.descriptor(), MIB - 1));
            assertErrno(Errno.EPERM, () -> MemoryCalls.truncate(memory.descriptor(), MIB + 1));
            assertErrno(Errno.EPERM, () -> MemoryCalls.addSeals(memory.descriptor(), MemoryCalls.F_SEAL_GROW));
            assertThat(MemoryCalls.size(memory.descriptor())).isEqualTo(MIB);
        }
    }

    @Test
    void aFileHasAllItsBlocksAndOnlyTheOwnerCanAccessIt() throws IOException {
        var file = directory.resolve("arena");
        try (var memory = SharedMemory.createFile(file, 3 * MIB)) {
            assertThat(Files.size(file)).isEqualTo(3 * MIB);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                    .isEqualTo("rw-------");
            assertThat(allocatedBytes(file)).isGreaterThanOrEqualTo(3 * MIB);
            memory.segment().set(JAVA_LONG, 0, 7);
        }
        try (var again = SharedMemory.openFile(file)) {
            assertThat(again.size()).isEqualTo(3 * MIB);
            assertThat(again.segment().get(JAVA_LONG, 0)).isEqualTo(7);
        }
    }

    @Test
    void unnamedMemoryHasAllItsBlocksAndNoNameInItsDirectory() throws IOException {
        try (var memory = SharedMemory.createUnnamed(directory, 3 * MIB);
                var other = SharedMemory.openFile(throughProc(memory))) {
            assertThat(directory).isEmptyDirectory();
            assertThat(memory.size()).isEqualTo(3 * MIB);
            assertThat(allocatedBytes(throughProc(memory))).isGreaterThanOrEqualTo(3 * MIB);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(throughProc(memory))))
                    .isEqualTo("rw-------");
            memory.segment().set(JAVA_LONG, 3 * MIB - 8, 42);
            assertThat(other.segment().get(JAVA_LONG, 3 * MIB - 8)).isEqualTo(42);
        }
        assertErrno(Errno.ENOENT, () -> SharedMemory.createUnnamed(directory.resolve("none"), MIB));
    }

    @Test
    void aFileOfMoreThanTwoGibibytesIsAddressableToItsLastByte() throws IOException {
        long bytes = (2L << 30) + 64 * MIB;
        var file = directory.resolve("big");
        // A sparse file saves memory; createFile differs only in that it allocates the blocks.
        try (var channel = Files.newByteChannel(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.position(bytes - 1).write(ByteBuffer.wrap(new byte[] {9}));
        }
        try (var memory = SharedMemory.openFile(file)) {
            assertThat(memory.size()).isEqualTo(bytes);
            assertThat(memory.segment().get(JAVA_BYTE, bytes - 1)).isEqualTo((byte) 9);
            RawMemory.putLong(memory.address() + (2L << 30) + 8, 77);
            assertThat(memory.segment().get(JAVA_LONG, (2L << 30) + 8)).isEqualTo(77);
        }
        try (var memfd = SharedMemory.createMemfd("lite-test-big", bytes)) {
            memfd.segment().set(JAVA_BYTE, bytes - 1, (byte) 1);
            assertThat(RawMemory.getByte(memfd.address() + bytes - 1)).isOne();
        }
    }

    @Test
    void aFileThatDoesNotFitIsRemovedAndReportedWithItsSize() throws IOException {
        var file = directory.resolve("huge");
        long bytes = Files.getFileStore(directory).getTotalSpace() + MIB;
        var refused = catchThrowableOfType(OsException.class, () -> SharedMemory.createFile(file, bytes));
        assertThat(refused.errno()).isEqualTo(Errno.ENOSPC);
        assertThat(refused).hasMessageContaining(file.toString()).hasMessageContaining(bytes + " bytes");
        assertThat(file).doesNotExist();
    }

    @Test
    void anExistingFileIsNotChanged() throws IOException {
        var file = directory.resolve("arena");
        Files.writeString(file, "mine");
        var refused = catchThrowableOfType(OsException.class, () -> SharedMemory.createFile(file, MIB));
        assertThat(refused).hasMessage("open(%s): EEXIST (File exists)".formatted(file));
        assertThat(refused.call()).isEqualTo("open(%s)".formatted(file));
        assertThat(file).hasContent("mine");
    }

    @Test
    void aMissingAndAnEmptyFileAreRefused() throws IOException {
        assertErrno(Errno.ENOENT, () -> SharedMemory.openFile(directory.resolve("none")));
        var empty = Files.createFile(directory.resolve("empty"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SharedMemory.openFile(empty))
                .withMessageContaining("0 bytes");
    }

    @Test
    void aSizeBelowOneIsRefusedBeforeAFileIsCreated() {
        var file = directory.resolve("arena");
        assertThatIllegalArgumentException().isThrownBy(() -> SharedMemory.createFile(file, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> SharedMemory.createMemfd("lite-test", -1));
        assertThat(file).doesNotExist();
    }

    @Test
    void aPassedDescriptorMustBeSealedIfRequired() {
        try (var memory = SharedMemory.createFile(directory.resolve("arena"), MIB);
                var sealed = SharedMemory.createMemfd("lite-test", MIB)) {
            int unsealedCopy =
                    MemoryCalls.openExisting(directory.resolve("arena").toString());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SharedMemory.fromDescriptor(unsealedCopy, MIB, true))
                    .withMessageContaining("not sealed");
            assertErrno(Errno.EBADF, () -> MemoryCalls.size(unsealedCopy));
            int sealedCopy = MemoryCalls.openExisting(throughProc(sealed).toString());
            try (var accepted = SharedMemory.fromDescriptor(sealedCopy, MIB, true)) {
                memory.segment().set(JAVA_LONG, 0, 1);
                sealed.segment().set(JAVA_LONG, 0, 2);
                assertThat(accepted.segment().get(JAVA_LONG, 0)).isEqualTo(2);
            }
            assertErrno(Errno.EBADF, () -> MemoryCalls.size(sealedCopy));
        }
    }

    @Test
    void aPassedDescriptorThatIsShorterThanAnnouncedIsRefusedAndClosed() {
        try (var memory = SharedMemory.createMemfd("lite-test", MIB)) {
            int copy = MemoryCalls.openExisting(throughProc(memory).toString());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SharedMemory.fromDescriptor(copy, MIB + 1, true))
                    .withMessageContaining("has %d bytes; %d were announced".formatted(MIB, MIB + 1));
            assertErrno(Errno.EBADF, () -> MemoryCalls.size(copy));
        }
    }

    @Test
    void aDescriptorThatIsNotMemoryIsRefused() {
        int device = MemoryCalls.openExisting("/dev/null");
        assertThatIllegalArgumentException().isThrownBy(() -> SharedMemory.fromDescriptor(device, 4096, false));
    }

    @Test
    void afterCloseTheSegmentIsInvalidAndTheMappingIsRemoved() throws IOException {
        var memory = SharedMemory.createMemfd("lite-test-closed", MIB);
        int number = memory.descriptor();
        memory.close();
        memory.close();
        assertThatThrownBy(() -> memory.segment().get(JAVA_LONG, 0)).isInstanceOf(IllegalStateException.class);
        assertErrno(Errno.EBADF, () -> MemoryCalls.size(number));
        assertThat(Files.readString(Path.of("/proc/self/maps"))).doesNotContain("lite-test-closed");
    }

    @Test
    void hugePagesCanBeRequested() {
        try (var memory = SharedMemory.createMemfd("lite-test", 4 * MIB)) {
            // This kernel may or may not provide huge pages; the memory must be usable either way.
            boolean known = memory.adviseHugePages();
            memory.segment().fill((byte) (known ? 1 : 2));
            assertThat(memory.segment().get(JAVA_BYTE, 4 * MIB - 1)).isEqualTo((byte) (known ? 1 : 2));
        }
    }

    private static Path throughProc(SharedMemory memory) {
        return Path.of("/proc/%d/fd/%d".formatted(ProcessHandle.current().pid(), memory.descriptor()));
    }

    private static long allocatedBytes(Path file) throws IOException {
        // Java cannot read st_blocks, so use du.
        var process = new ProcessBuilder("du", "--dereference", "--block-size=1", file.toString()).start();
        try (var reader = process.inputReader()) {
            return Long.parseLong(reader.readLine().split("\t", -1)[0]);
        }
    }

    private static void assertErrno(int errno, ThrowingCallable call) {
        assertThat(catchThrowableOfType(OsException.class, call).errno()).isEqualTo(errno);
    }
}
