package dev.lite.os.wire;

import dev.lite.os.TcpSocket;
import java.lang.foreign.MemorySegment;

/** A wire without encryption: passes all calls to the socket. */
public final class PlainWire implements ArrayWire {
    private final TcpSocket socket;

    /** Whether the last receive emptied the socket. Used by the receiving thread. */
    private boolean drained;

    /** @param socket owned by this wire */
    public PlainWire(TcpSocket socket) {
        this.socket = socket;
    }

    @Override
    public long send(long address, long length) {
        return socket.send(address, length);
    }

    @Override
    public long sendVector(long iovec, int count) {
        return socket.sendVector(iovec, count);
    }

    @Override
    public long receive(long address, long length) {
        long received = socket.receive(address, length);
        drained = received >= 0 && received < length;
        return received;
    }

    @Override
    public long send(MemorySegment from) {
        return socket.send(from);
    }

    @Override
    public long receive(MemorySegment to) {
        long received = socket.receive(to);
        drained = received >= 0 && received < to.byteSize();
        return received;
    }

    @Override
    public boolean isDrained() {
        return drained;
    }

    @Override
    public boolean awaitReadable(long timeoutNs) {
        return socket.awaitReadable(timeoutNs);
    }

    @Override
    public boolean awaitWritable(long timeoutNs) {
        return socket.awaitWritable(timeoutNs);
    }

    @Override
    public void endOutput() {
        socket.shutdownOutput();
    }

    @Override
    public boolean awaitPeerEnd(long timeoutNs) {
        return socket.awaitPeerEnd(timeoutNs);
    }

    @Override
    public boolean isReset() {
        return socket.isReset();
    }

    @Override
    public void shutdown() {
        socket.shutdown();
    }

    @Override
    public void abort() {
        socket.abort();
    }
}
