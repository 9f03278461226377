package dev.lite.tier.rpc;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A connection whose other end is this process's memory from address 0 on. Counts messages, and delivers none. */
final class CountingEndpoint implements FabricEndpoint {
    final AtomicInteger messages = new AtomicInteger();

    @Override
    public byte[] hello() {
        return new byte[0];
    }

    @Override
    public long remoteSize() {
        return Long.MAX_VALUE;
    }

    @Override
    public long mappedAddress() {
        return 0;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        throw new UnsupportedOperationException();
    }

    /** Of one word. */
    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        RawMemory.putLongRelease(remoteOffset, RawMemory.getLongAcquire(localAddress));
        return Post.DONE;
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        messages.incrementAndGet();
        return Post.DONE;
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
        return null;
    }

    @Override
    public void attach(@Nullable Object attachment) {}

    @Override
    public void close() {}
}
