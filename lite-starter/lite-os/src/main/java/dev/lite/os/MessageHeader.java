package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A {@code msghdr} with one {@code iovec} and room for one control message that carries descriptors. Used by one thread only. */
final class MessageHeader {
    // struct msghdr
    private static final long IOV = 16;
    private static final long IOV_LENGTH = 24;
    private static final long CONTROL = 32;
    private static final long CONTROL_LENGTH = 40;
    private static final long FLAGS = 48;
    private static final long MSGHDR_BYTES = 56;
    // struct iovec, directly after it
    private static final long IOVEC = MSGHDR_BYTES;
    private static final long IOVEC_BYTES = 16;
    // struct cmsghdr, then its data
    private static final long CMSG = IOVEC + IOVEC_BYTES;
    private static final long CMSG_LEVEL = CMSG + 8;
    private static final long CMSG_TYPE = CMSG + 12;
    private static final long CMSG_DATA = CMSG + 16;
    private static final long CMSG_HEADER_BYTES = 16;
    private static final long CMSG_BYTES_MAX = CMSG_HEADER_BYTES + (long) UnixSocket.DESCRIPTORS_MAX * Integer.BYTES;

    private static final int SOL_SOCKET = 1;
    private static final int SCM_RIGHTS = 1;
    private static final int MSG_CTRUNC = 0x8;
    private static final int MSG_TRUNC = 0x20;

    private final MemorySegment memory;

    MessageHeader(Arena arena) {
        memory = arena.allocate(CMSG + CMSG_BYTES_MAX, Long.BYTES);
        memory.set(JAVA_LONG, IOV, memory.address() + IOVEC);
        memory.set(JAVA_LONG, IOV_LENGTH, 1);
    }

    long address() {
        return memory.address();
    }

    void prepareSend(long address, long length, int[] descriptors) {
        prepareData(address, length);
        if (descriptors.length == 0) {
            memory.set(JAVA_LONG, CONTROL, 0);
            memory.set(JAVA_LONG, CONTROL_LENGTH, 0);
            return;
        }
        long cmsgBytes = CMSG_HEADER_BYTES + (long) descriptors.length * Integer.BYTES;
        memory.set(JAVA_LONG, CONTROL, memory.address() + CMSG);
        memory.set(JAVA_LONG, CONTROL_LENGTH, (cmsgBytes + Long.BYTES - 1) & -Long.BYTES);
        memory.set(JAVA_LONG, CMSG, cmsgBytes);
        memory.set(JAVA_INT, CMSG_LEVEL, SOL_SOCKET);
        memory.set(JAVA_INT, CMSG_TYPE, SCM_RIGHTS);
        for (int i = 0; i < descriptors.length; i++) {
            memory.set(JAVA_INT, CMSG_DATA + (long) i * Integer.BYTES, descriptors[i]);
        }
    }

    void prepareReceive(long address, long capacity) {
        prepareData(address, capacity);
        memory.set(JAVA_LONG, CONTROL, memory.address() + CMSG);
        memory.set(JAVA_LONG, CONTROL_LENGTH, CMSG_BYTES_MAX);
    }

    private void prepareData(long address, long length) {
        memory.set(JAVA_LONG, IOVEC, address);
        memory.set(JAVA_LONG, IOVEC + Long.BYTES, length);
        memory.set(JAVA_INT, FLAGS, 0);
    }

    /** Whether the data did not fit into its buffer. */
    boolean isDataTruncated() {
        return (memory.get(JAVA_INT, FLAGS) & MSG_TRUNC) != 0;
    }

    /** Whether more descriptors came than are in {@link #descriptors}. */
    boolean lacksDescriptors() {
        return (memory.get(JAVA_INT, FLAGS) & MSG_CTRUNC) != 0;
    }

    /** The received descriptors. Only one socket option is set, so there is at most one control message. */
    int[] descriptors() {
        if (memory.get(JAVA_LONG, CONTROL_LENGTH) < CMSG_HEADER_BYTES
                || memory.get(JAVA_INT, CMSG_LEVEL) != SOL_SOCKET
                || memory.get(JAVA_INT, CMSG_TYPE) != SCM_RIGHTS) {
            return Received.END.descriptors();
        }
        int[] descriptors = new int[(int) (memory.get(JAVA_LONG, CMSG) - CMSG_HEADER_BYTES) / Integer.BYTES];
        MemorySegment.copy(memory, JAVA_INT, CMSG_DATA, descriptors, 0, descriptors.length);
        return descriptors;
    }
}
