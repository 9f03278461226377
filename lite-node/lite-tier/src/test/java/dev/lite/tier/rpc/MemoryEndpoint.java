package dev.lite.tier.rpc;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A connection whose other end is memory of this process: a write is a copy and is done at once, unless it is busy. */
final class MemoryEndpoint implements FabricEndpoint {
    private final long address;
    private final long bytes;
    private volatile @Nullable Object attachment;

    /** Of so many writes, each finds the connection busy. */
    final AtomicInteger busy = new AtomicInteger();

    /** @param address where the other end's memory begins */
    MemoryEndpoint(long address, long bytes) {
        this.address = address;
        this.bytes = bytes;
    }

    @Override
    public byte[] hello() {
        return new byte[0];
    }

    @Override
    public long remoteSize() {
        return bytes;
    }

    @Override
    public long mappedAddress() {
        return address;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        if (length != Long.BYTES) {
            throw new UnsupportedOperationException("only words");
        }
        if (busy.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            return Post.BUSY;
        }
        RawMemory.putLongRelease(address + remoteOffset, RawMemory.getLongAcquire(localAddress));
        return Post.DONE;
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        throw new UnsupportedOperationException();
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object its) {
        attachment = its;
    }

    @Override
    public void close() {}
}
