package dev.lite.fabric.driver;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricStream;
import dev.lite.fabric.Post;
import org.jspecify.annotations.Nullable;

/** {@link FabricEndpoint#onLanes} of a driver with lanes: passes all but reads and writes to the connection. Any thread. */
public final class SomeLanes implements FabricEndpoint {
    private final FabricEndpoint whole;
    private final Transfers transfers;
    private final int first;
    private final int count;

    /** Reads and writes of the connection on some of its lanes. */
    @FunctionalInterface
    public interface Transfers {
        /** {@link FabricEndpoint#read} or {@link FabricEndpoint#write} on the lanes from {@code first} on. */
        Post transfer(
                boolean write, long remoteOffset, long localAddress, long length, long context, int first, int count);
    }

    /**
     * Checks the range.
     *
     * @param whole the connection, which is open
     * @throws IndexOutOfBoundsException if it has no such lanes
     */
    public SomeLanes(FabricEndpoint whole, Transfers transfers, int first, int count) {
        int lanes = whole.laneCount();
        if (first < 0 || count < 1 || first > lanes - count) {
            throw new IndexOutOfBoundsException(
                    "%d lanes from lane %d on; the connection has %d".formatted(count, first, lanes));
        }
        this.whole = whole;
        this.transfers = transfers;
        this.first = first;
        this.count = count;
    }

    /**
     * The lane for a transfer: the first one for short transfers, so that they do not wait behind long ones; the others for
     * long ones, by the thread.
     */
    public static int choose(boolean isLong, int first, int count) {
        return !isLong || count == 1
                ? first
                : first + 1 + (int) (Thread.currentThread().threadId() % (count - 1));
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        return transfers.transfer(false, remoteOffset, localAddress, length, context, first, count);
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        return transfers.transfer(true, remoteOffset, localAddress, length, context, first, count);
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return whole.writeImm(remoteOffset, localAddress, length, immediate, context);
    }

    @Override
    public Post writeImmSoon(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return whole.writeImmSoon(remoteOffset, localAddress, length, immediate, context);
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        return whole.fetchAdd(remoteOffset, delta, resultAddress, context);
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return whole.compareAndSwap(remoteOffset, expected, value, resultAddress, context);
    }

    @Override
    public byte[] hello() {
        return whole.hello();
    }

    @Override
    public long remoteSize() {
        return whole.remoteSize();
    }

    @Override
    public int laneCount() {
        return count;
    }

    @Override
    public long mappedAddress() {
        return whole.mappedAddress();
    }

    @Override
    public boolean opensStreams() {
        return whole.opensStreams();
    }

    @Override
    public @Nullable FabricStream openStream(long tag, long timeoutNs) {
        return whole.openStream(tag, timeoutNs);
    }

    @Override
    public void dropStream(long tag) {
        whole.dropStream(tag);
    }

    @Override
    public @Nullable Object attachment() {
        return whole.attachment();
    }

    @Override
    public void attach(@Nullable Object attachment) {
        whole.attach(attachment);
    }

    @Override
    public void close() {
        whole.close();
    }
}
