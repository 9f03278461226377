package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/** An opened input. One thread. */
sealed interface Source extends AutoCloseable {
    /** The size in bytes. */
    long size();

    /** Fills the range of the array with the bytes from {@code position} on, which exist. */
    void read(long position, byte[] array, int offset, int length);

    @Override
    void close();

    /**
     * Opens an input.
     *
     * @throws UncheckedIOException if it is a file that cannot be read
     * @throws dev.lite.api.LiteException if it is an LMR that cannot be mapped
     */
    static Source open(Lite lite, Input input) {
        return switch (input) {
            case Input.File file -> FileSource.open(file);
            case Input.Lmr lmr -> new LmrSource(lite.memory().map(lmr.name(), Permission.READ));
        };
    }

    /** A file. */
    record FileSource(Input.File file, FileChannel channel, long size) implements Source {
        static FileSource open(Input.File file) {
            try {
                FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.READ);
                return new FileSource(file, channel, channel.size());
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read %s: %s".formatted(file, e), e);
            }
        }

        @Override
        public void read(long position, byte[] array, int offset, int length) {
            try {
                ByteBuffer buffer = ByteBuffer.wrap(array, offset, length);
                while (buffer.hasRemaining()) {
                    if (channel.read(buffer, position + buffer.position() - offset) < 0) {
                        throw new IOException("it ends before byte " + (position + length));
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read %s: %s".formatted(file, e), e);
            }
        }

        @Override
        public void close() {
            try {
                channel.close();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot close %s: %s".formatted(file, e), e);
            }
        }
    }

    /** A mapped LMR. */
    record LmrSource(LmrHandle lmr) implements Source {
        @Override
        public long size() {
            return lmr.size();
        }

        @Override
        public void read(long position, byte[] array, int offset, int length) {
            lmr.read(position, MemorySegment.ofArray(array).asSlice(offset, length));
        }

        @Override
        public void close() {
            lmr.unmap();
        }
    }
}
