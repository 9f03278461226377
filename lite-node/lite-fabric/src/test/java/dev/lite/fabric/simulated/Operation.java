package dev.lite.fabric.simulated;

import org.jspecify.annotations.Nullable;

/** An outstanding post. Guarded by the network's lock. */
final class Operation {
    /** The kind of a post. */
    enum Kind {
        READ,
        WRITE,
        WRITE_IMM,
        FETCH_ADD,
        COMPARE_AND_SWAP
    }

    final Kind kind;
    final long remoteOffset;
    final long localAddress;
    final long length;
    final long operand;
    final long expected;
    final int immediate;
    final long context;

    /** The result of a read or an atomic operation; copied to local memory only at its completion. */
    private byte @Nullable [] bytes;

    private long word;

    private boolean carriedOut;

    /** Whether its completion or failure was reported to the poster. */
    boolean ended;

    private Operation(
            Kind kind,
            long remoteOffset,
            long localAddress,
            long length,
            long operand,
            long expected,
            int immediate,
            long context) {
        this.kind = kind;
        this.remoteOffset = remoteOffset;
        this.localAddress = localAddress;
        this.length = length;
        this.operand = operand;
        this.expected = expected;
        this.immediate = immediate;
        this.context = context;
    }

    static Operation transfer(
            Kind kind, long remoteOffset, long localAddress, long length, int immediate, long context) {
        return new Operation(kind, remoteOffset, localAddress, length, 0, 0, immediate, context);
    }

    static Operation atomic(
            Kind kind, long remoteOffset, long expected, long operand, long resultAddress, long context) {
        return new Operation(kind, remoteOffset, resultAddress, Long.BYTES, operand, expected, 0, context);
    }

    boolean isAtomic() {
        return kind == Kind.FETCH_ADD || kind == Kind.COMPARE_AND_SWAP;
    }

    /** Executes the operation on the peer's memory. A write reads its bytes only now, so that reusing them too early shows. */
    void carryOut(long remoteBase) {
        if (carriedOut) {
            throw new IllegalStateException(this + " is executed a second time");
        }
        carriedOut = true;
        long remote = remoteBase + remoteOffset;
        switch (kind) {
            case READ -> bytes = RawBytes.take(remote, length);
            case WRITE, WRITE_IMM -> {
                if (length > 0) {
                    RawBytes.copy(localAddress, remote, length);
                }
            }
            case FETCH_ADD -> word = RawBytes.getAndAdd(remote, operand);
            case COMPARE_AND_SWAP -> word = RawBytes.compareAndExchange(remote, expected, operand);
        }
    }

    boolean isCarriedOut() {
        return carriedOut;
    }

    /** Copies the result into local memory. */
    void placeResult() {
        if (isAtomic()) {
            RawBytes.putLong(localAddress, word);
        } else if (bytes != null && length > 0) {
            RawBytes.put(bytes, localAddress);
        }
    }

    @Override
    public String toString() {
        return kind + " " + context + " [" + remoteOffset + ", +" + length + "]";
    }
}
