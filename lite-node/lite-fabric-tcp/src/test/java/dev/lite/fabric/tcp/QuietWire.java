package dev.lite.fabric.tcp;

import dev.lite.os.wire.Wire;

/** A wire whose peer never resets, and whose end has no effect. It is always ready. */
abstract class QuietWire implements Wire {
    @Override
    public final boolean awaitReadable(long timeoutNs) {
        return true;
    }

    @Override
    public final boolean awaitWritable(long timeoutNs) {
        return true;
    }

    @Override
    public final void endOutput() {}

    @Override
    public final boolean awaitPeerEnd(long timeoutNs) {
        return true;
    }

    @Override
    public boolean isReset() {
        return false;
    }

    @Override
    public final void shutdown() {}

    @Override
    public final void abort() {}
}
