package dev.lite.os.wire;

/** A wire that encrypts what another one carries. What does not concern the bytes is that wire's. */
public abstract class EncryptedWire implements Wire {
    /** Carries the encrypted bytes. */
    protected final Wire plain;

    /** @param plain owned by this wire */
    protected EncryptedWire(Wire plain) {
        this.plain = plain;
    }

    @Override
    public boolean awaitWritable(long timeoutNs) {
        return plain.awaitWritable(timeoutNs);
    }

    @Override
    public void endOutput() {
        plain.endOutput();
    }

    @Override
    public boolean awaitPeerEnd(long timeoutNs) {
        return plain.awaitPeerEnd(timeoutNs);
    }

    @Override
    public boolean isReset() {
        return plain.isReset();
    }

    @Override
    public void shutdown() {
        plain.shutdown();
    }

    @Override
    public void abort() {
        plain.abort();
    }
}
