package dev.lite.os.wire;

import dev.lite.os.RawMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;

/**
 * A socket whose bytes are encrypted and authenticated with keys that both ends have agreed on: a stream of records.
 *
 * <pre>
 *  0 length of the content (4)   4 content, encrypted   … tag (16)
 * </pre>
 *
 * <p>Records are AES-128-GCM; {@link RecordCipher} counts them, so a record that was changed, repeated, left out or moved has a wrong
 * tag, which ends the connection. No byte of a record is passed on before its tag was checked.
 *
 * <p>Encrypted bytes are not reported as taken before they are sent: the sender passes the same bytes again
 * when there is room. The two directions share nothing, and need no lock: one thread at a time sends, and one receives.
 * Memory: {@value #RECORD_BYTES_MAX} bytes five times, in arrays: the cipher reads and writes only those fast.
 */
public final class SealedWire extends EncryptedWire {
    /** Bytes of a key: fresh for each connection and direction, and known to both ends only. */
    public static final int KEY_BYTES = 32;

    static final int LENGTH_BYTES = 4;
    static final int OVERHEAD_BYTES = LENGTH_BYTES + RecordCipher.TAG_BYTES;
    /** Content of a record. Larger ones encrypt faster, but fit less well into the processor's caches. */
    static final int RECORD_BYTES_MAX = 32 << 10;
    /** Records that one receive opens at most: small ones hold the thread up for long. */
    static final int RECEIVED_RECORDS_MAX = 128;

    /** A system call sends or receives up to two full records. */
    private static final int BUFFER_BYTES = 2 * (RECORD_BYTES_MAX + OVERHEAD_BYTES);

    private static final int RANGE_BYTES = 16;
    private static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final ArrayWire arrays;

    // Sending thread.
    private final RecordCipher sealing;
    private final byte[] bufferOut = new byte[BUFFER_BYTES];
    private final MemorySegment bufferOutSegment = MemorySegment.ofArray(bufferOut);
    private int outFrom;
    private int outTo;
    /** Bytes in the buffer that are not reported as taken. */
    private long unreported;
    /** How many of them are those of the first record, and where that ends in the buffer; 0: it is sent. */
    private int firstUnreported;

    private int firstTo;

    // Receiving thread.
    private final RecordCipher opening;
    private final byte[] bufferIn = new byte[BUFFER_BYTES];
    private final MemorySegment bufferInSegment = MemorySegment.ofArray(bufferIn);
    private final byte[] clearIn = new byte[RECORD_BYTES_MAX];
    private final MemorySegment clearInSegment = MemorySegment.ofArray(clearIn);
    private int inFrom;
    private int inTo;
    private int clearFrom;
    private int clearTo;
    private long records;

    /**
     * Encrypts.
     *
     * @param plain owned by this wire
     * @param sendKey {@value #KEY_BYTES} bytes for what this side sends
     * @param receiveKey as many for what the other side sends
     */
    public SealedWire(ArrayWire plain, byte[] sendKey, byte[] receiveKey) {
        super(plain);
        this.arrays = plain;
        sealing = RecordCipher.sealing(sendKey);
        opening = RecordCipher.opening(receiveKey);
    }

    @Override
    public long send(long address, long length) {
        return send(0, 1, address, length);
    }

    @Override
    public long sendVector(long iovec, int count) {
        return send(iovec, count, 0, 0);
    }

    /** Sends the ranges of {@code iovec}, or the one range if that is 0. */
    private long send(long iovec, int count, long address, long length) {
        if (!flush()) {
            return firstIfSent();
        }
        long taken = unreported;
        unreported = 0;
        long skip = taken;
        int index = 0;
        // The place after the bytes that were sent before.
        while (index < count && skip >= length(iovec, index, length)) {
            skip -= length(iovec, index, length);
            index++;
        }
        long at = skip;
        while (index < count) {
            int content = outTo + LENGTH_BYTES;
            int filled = 0;
            while (index < count && filled < RECORD_BYTES_MAX) {
                long left = length(iovec, index, length) - at;
                int part = (int) Math.min(left, RECORD_BYTES_MAX - filled);
                RawMemory.copyTo(address(iovec, index, address) + at, bufferOutSegment, content + filled, part);
                filled += part;
                at += part;
                if (part == left) {
                    index++;
                    at = 0;
                }
            }
            seal(filled);
            if (unreported == 0) {
                firstUnreported = filled;
                firstTo = outTo;
            }
            unreported += filled;
            boolean full = outTo + RECORD_BYTES_MAX + OVERHEAD_BYTES > BUFFER_BYTES;
            if (full || index == count) {
                if (!flush()) {
                    return taken + firstIfSent();
                }
                taken += unreported;
                unreported = 0;
            }
        }
        return taken;
    }

    /** The bytes of the first record, once, if all of it is sent: the peer can answer to it before the next one is sent, too. */
    private int firstIfSent() {
        if (outFrom < firstTo) {
            return 0;
        }
        int bytes = firstUnreported;
        firstUnreported = 0;
        unreported -= bytes;
        return bytes;
    }

    private static long length(long iovec, int index, long only) {
        return iovec == 0 ? only : RawMemory.getLong(iovec + (long) index * RANGE_BYTES + Long.BYTES);
    }

    private static long address(long iovec, int index, long only) {
        return iovec == 0 ? only : RawMemory.getLong(iovec + (long) index * RANGE_BYTES);
    }

    /** Encrypts what is in the buffer after the place for a length. */
    private void seal(int length) {
        try {
            sealing.seal(bufferOut, outTo, length);
        } catch (GeneralSecurityException e) {
            throw new WireException("cannot encrypt: " + e.getMessage(), e);
        }
        outTo += length + OVERHEAD_BYTES;
    }

    /** Sends what is encrypted; returns whether all was sent. */
    private boolean flush() {
        while (outFrom < outTo) {
            long sent = arrays.send(bufferOutSegment.asSlice(outFrom, outTo - outFrom));
            if (sent == 0) {
                return false;
            }
            outFrom += (int) sent;
        }
        outFrom = 0;
        outTo = 0;
        return true;
    }

    @Override
    public long receive(long address, long length) {
        long got = 0;
        long recordsMax = records + RECEIVED_RECORDS_MAX;
        while (got < length) {
            if (clearFrom == clearTo && (records == recordsMax || !open())) {
                if (got > 0) {
                    break;
                }
                long more = fill();
                if (more <= 0) {
                    return more;
                }
                continue;
            }
            int part = (int) Math.min(length - got, clearTo - clearFrom);
            RawMemory.copyFrom(clearInSegment, clearFrom, address + got, part);
            clearFrom += part;
            got += part;
        }
        return got;
    }

    /** Checks and decrypts the next record, if it is complete. */
    private boolean open() {
        int there = inTo - inFrom;
        if (there < LENGTH_BYTES) {
            return false;
        }
        int length = recordLength();
        if (length < 1 || length > RECORD_BYTES_MAX) {
            throw new WireException("a record has %d bytes; the limit is %d: somebody changed it on its way"
                    .formatted(Integer.toUnsignedLong(length), RECORD_BYTES_MAX));
        }
        if (there < length + OVERHEAD_BYTES) {
            return false;
        }
        try {
            opening.open(bufferIn, inFrom, length, clearIn);
        } catch (GeneralSecurityException e) {
            throw new WireException(
                    "a record is not authentic: somebody changed, repeated or dropped it on its way", e);
        }
        inFrom += length + OVERHEAD_BYTES;
        clearFrom = 0;
        clearTo = length;
        records++;
        return true;
    }

    /** Receives more; the result is that of {@link Wire#receive}. */
    private long fill() {
        if (inFrom > 0) {
            System.arraycopy(bufferIn, inFrom, bufferIn, 0, inTo - inFrom);
            inTo -= inFrom;
            inFrom = 0;
        }
        long got = arrays.receive(bufferInSegment.asSlice(inTo, BUFFER_BYTES - inTo));
        if (got > 0) {
            inTo += (int) got;
        } else if (got == END && inTo > 0) {
            throw new WireException("it ended in the middle of a record");
        }
        return got;
    }

    /** Whether nothing is left: the socket was emptied, and no complete record is in the buffer. */
    @Override
    public boolean isDrained() {
        return clearFrom == clearTo && !hasRecord() && plain.isDrained();
    }

    private boolean hasRecord() {
        int there = inTo - inFrom;
        // A length that is out of range is reported by the next receive.
        return there >= LENGTH_BYTES && Integer.compareUnsigned(there, recordLength() + OVERHEAD_BYTES) >= 0;
    }

    private int recordLength() {
        return bufferInSegment.get(LENGTH, inFrom);
    }

    @Override
    public long records() {
        return records;
    }

    @Override
    public boolean awaitReadable(long timeoutNs) {
        return clearFrom < clearTo || hasRecord() || plain.awaitReadable(timeoutNs);
    }
}
