package dev.lite.fabric.rdma.verbs;

import com.ibm.disni.verbs.impl.NativeDispatcher;
import dev.lite.os.RawMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/**
 * The verbs and the connection manager, called through DiSNI's native dispatcher. Handles are raw pointers, passed as {@code long}s. DiSNI's
 * own object layer is not used, because it allocates on every call, never releases a connection, and reports the wrong queue pair when a
 * request fails. As thread-safe as the verbs themselves; the data path allocates only for errors.
 */
public final class Verbs {
    // enum rdma_cm_event_type
    public static final int ADDRESS_RESOLVED = 0;
    public static final int ROUTE_RESOLVED = 2;
    public static final int CONNECT_REQUEST = 4;
    public static final int ESTABLISHED = 9;
    public static final int DISCONNECTED = 10;
    public static final int DEVICE_REMOVAL = 11;
    public static final int TIME_WAIT_EXIT = 15;

    private static final String[] EVENTS = {
        "address resolved",
        "this device cannot reach the address (address error)",
        "route resolved",
        "there is no route (route error)",
        "connect request",
        "connect response",
        "the connection could not be made (connect error)",
        "it does not answer (unreachable)",
        "it rejected the connection; probably no node listens there",
        "established",
        "it disconnected",
        "the device was removed",
        "multicast join",
        "multicast error",
        "address change",
        "time wait exit"
    };

    private static final short PORT_SPACE_TCP = 0x0106;
    private static final int RELIABLE_CONNECTED = 2;
    private static final int RETRIES = 7;
    private static final int ACCESS_LOCAL_WRITE = 1;
    private static final int ACCESS_REMOTE = 2 | 4;

    // struct sockaddr_in
    private static final int SOCKET_ADDRESS_BYTES = 16;
    private static final short AF_INET = 2;
    private static final int PORT = 2;
    private static final int ADDRESS = 4;

    /** Offset of the descriptor in {@code struct ibv_comp_channel}, after the context. */
    private static final int COMPLETION_CHANNEL_DESCRIPTOR = 8;

    private final NativeDispatcher calls;

    /** A memory registration: its handle and its keys. */
    public record Region(long handle, int localKey, int remoteKey) {}

    /** Visible to tests. */
    Verbs(NativeDispatcher calls) {
        this.calls = calls;
    }

    /**
     * Loads the library.
     *
     * @throws RuntimeException with the reason from {@link NativeLibrary#problem} if DiSNI cannot be used
     */
    public static Verbs load() {
        return new Verbs(NativeLibrary.dispatcher());
    }

    /** The meaning of a connection manager event, for messages. */
    public static String describe(int event) {
        return event >= 0 && event < EVENTS.length ? EVENTS[event] : "event " + event;
    }

    private static VerbsException failed(String call, IOException e) {
        return new VerbsException("%s failed: %s".formatted(call, e.getMessage()), e);
    }

    private static long require(String call, long handle) {
        if (handle == 0 || handle == -1) {
            throw new VerbsException(call + " failed", null);
        }
        return handle;
    }

    // The connection manager.

    public long createEventChannel() {
        try {
            return require("rdma_create_event_channel", calls._createEventChannel());
        } catch (IOException e) {
            throw failed("rdma_create_event_channel", e);
        }
    }

    /** The descriptor of an event channel; the channel owns it. */
    public static int eventChannelDescriptor(long channel) {
        return RawMemory.getInt(channel);
    }

    public void destroyEventChannel(long channel) {
        calls._destroyEventChannel(channel);
    }

    public long createId(long channel) {
        try {
            return require("rdma_create_id", calls._createId(channel, PORT_SPACE_TCP));
        } catch (IOException e) {
            throw failed("rdma_create_id", e);
        }
    }

    /** Destroys an id. Its queue pair must be destroyed already. */
    public void destroyId(long id) {
        calls._destroyCmId(id);
    }

    public void bind(long id, InetSocketAddress address) {
        try (var arena = Arena.ofConfined()) {
            calls._bindAddr(id, socketAddress(arena, address));
        } catch (IOException e) {
            throw failed("rdma_bind_addr(%s)".formatted(address), e);
        }
    }

    public void listen(long id, int backlog) {
        try {
            calls._listen(id, backlog);
        } catch (IOException e) {
            throw failed("rdma_listen", e);
        }
    }

    /** The local address of an id. */
    public InetSocketAddress localAddress(long id) {
        try (var arena = Arena.ofConfined()) {
            long address = arena.allocate(SOCKET_ADDRESS_BYTES, Long.BYTES).address();
            if (calls._getSrcAddr(id, address) != 0) {
                throw new VerbsException("rdma_get_local_addr failed", null);
            }
            byte[] host = new byte[Integer.BYTES];
            for (int i = 0; i < host.length; i++) {
                host[i] = RawMemory.getByte(address + ADDRESS + i);
            }
            int port = (Byte.toUnsignedInt(RawMemory.getByte(address + PORT)) << Byte.SIZE)
                    | Byte.toUnsignedInt(RawMemory.getByte(address + PORT + 1));
            return new InetSocketAddress(InetAddress.getByAddress(host), port);
        } catch (UnknownHostException e) {
            throw new AssertionError("four bytes are always an IPv4 address", e);
        }
    }

    public void resolveAddress(long id, InetAddress from, InetSocketAddress to, int timeoutMs) {
        try (var arena = Arena.ofConfined()) {
            long source = socketAddress(arena, new InetSocketAddress(from, 0));
            calls._resolveAddr(id, source, socketAddress(arena, to), timeoutMs);
        } catch (IOException e) {
            throw failed("rdma_resolve_addr(%s)".formatted(to), e);
        }
    }

    public void resolveRoute(long id, int timeoutMs) {
        try {
            calls._resolveRoute(id, timeoutMs);
        } catch (IOException e) {
            throw failed("rdma_resolve_route", e);
        }
    }

    public void connect(long id) {
        try {
            calls._connect(id, RETRIES, RETRIES, 0, (byte) 0);
        } catch (IOException e) {
            throw failed("rdma_connect", e);
        }
    }

    public void accept(long id) {
        try {
            calls._accept(id, RETRIES, RETRIES);
        } catch (IOException e) {
            throw failed("rdma_accept", e);
        }
    }

    /** Moves the queue pair to the error state: it stops sending, and the peer gets a disconnect event. */
    public void disconnect(long id) {
        calls._disconnect(id);
    }

    /**
     * Takes the next event, if any. Never blocks.
     *
     * @param ids address for the listening id and the event's own id, 8 bytes each
     * @return the type of the event; negative if there is none
     */
    public int takeEvent(long channel, long ids) {
        return calls._getCmEvent(channel, ids, ids + Long.BYTES, 0);
    }

    /** The context of the device that an id is bound to. */
    public long context(long id) {
        try {
            return require("the device of a connection manager's id", calls._getContext(id));
        } catch (IOException e) {
            throw failed("the device of a connection manager's id", e);
        }
    }

    private static long socketAddress(Arena arena, InetSocketAddress address) {
        if (!(address.getAddress() instanceof Inet4Address host)) {
            throw new VerbsException("RDMA connections need an IPv4 address; '%s' is not one".formatted(address), null);
        }
        var bytes = arena.allocate(SOCKET_ADDRESS_BYTES, Long.BYTES);
        var buffer = bytes.asByteBuffer().order(ByteOrder.nativeOrder());
        buffer.putShort(AF_INET);
        buffer.order(ByteOrder.BIG_ENDIAN).putShort((short) address.getPort()).put(host.getAddress());
        return bytes.address();
    }

    // Device resources.

    public long allocateProtectionDomain(long context) {
        try {
            return require("ibv_alloc_pd", calls._allocPd(context));
        } catch (IOException e) {
            throw failed("ibv_alloc_pd", e);
        }
    }

    public void freeProtectionDomain(long domain) {
        calls._deallocPd(domain);
    }

    public long createCompletionChannel(long context) {
        try {
            return require("ibv_create_comp_channel", calls._createCompChannel(context));
        } catch (IOException e) {
            throw failed("ibv_create_comp_channel", e);
        }
    }

    /** The descriptor of a completion channel; the channel owns it. */
    public static int completionChannelDescriptor(long channel) {
        return RawMemory.getInt(channel + COMPLETION_CHANNEL_DESCRIPTOR);
    }

    public void destroyCompletionChannel(long channel) {
        calls._destroyCompChannel(channel);
    }

    public long createCompletionQueue(long context, long channel, int entries) {
        try {
            return require("ibv_create_cq", calls._createCQ(context, channel, entries, 0));
        } catch (IOException e) {
            throw failed("ibv_create_cq of %d entries".formatted(entries), e);
        }
    }

    /** Destroys a completion queue. All of its events must be acknowledged already. */
    public void destroyCompletionQueue(long queue) {
        calls._destroyCQ(queue);
    }

    /** Creates a reliable connected queue pair for an id. */
    public long createQueuePair(long id, long domain, long completions, int sends, int receives, int inlineBytes) {
        try {
            return require(
                    "rdma_create_qp",
                    calls._createQP(
                            id, domain, completions, completions, RELIABLE_CONNECTED, sends, receives, inlineBytes));
        } catch (IOException e) {
            throw failed("rdma_create_qp of %d sends and %d receives".formatted(sends, receives), e);
        }
    }

    /** Destroys the queue pair of an id. After the return, the device accesses no memory for it. */
    public void destroyQueuePair(long id) {
        calls._destroyQP(id);
    }

    /**
     * Registers and pins memory.
     *
     * @param remote whether peers that have the key may read and write it
     */
    public Region register(long domain, long address, int bytes, boolean remote) {
        try (var arena = Arena.ofConfined()) {
            long keys = arena.allocate(2 * Long.BYTES, Long.BYTES).address();
            int access = remote ? ACCESS_LOCAL_WRITE | ACCESS_REMOTE : ACCESS_LOCAL_WRITE;
            long handle = calls._regMr(domain, address, bytes, access, keys, keys + 4, keys + 8);
            require("ibv_reg_mr of %d bytes".formatted(bytes), handle);
            return new Region(handle, RawMemory.getInt(keys), RawMemory.getInt(keys + 4));
        } catch (IOException e) {
            throw failed("ibv_reg_mr of %d bytes".formatted(bytes), e);
        }
    }

    public void deregister(Region region) {
        try {
            calls._deregMr(region.handle());
        } catch (IOException e) {
            throw failed("ibv_dereg_mr", e);
        }
    }

    // The data path.

    /** Posts a chain of requests; see {@link WorkRequest}. */
    public void postSend(long queuePair, long request) {
        try {
            calls._postSend(queuePair, request);
        } catch (IOException e) {
            throw failed("ibv_post_send", e);
        }
    }

    /** Posts a chain of receives; see {@link WorkRequest}. */
    public void postReceive(long queuePair, long request) {
        try {
            calls._postRecv(queuePair, request);
        } catch (IOException e) {
            throw failed("ibv_post_recv", e);
        }
    }

    /** Takes at most {@code count} completions; returns how many it took. See {@link Completion}. */
    public int poll(long queue, int count, long completions) {
        int taken;
        try {
            taken = calls._pollCQ(queue, count, completions);
        } catch (IOException e) {
            throw failed("ibv_poll_cq", e);
        }
        if (taken < 0) {
            throw new VerbsException("ibv_poll_cq failed with " + taken, null);
        }
        return taken;
    }

    /**
     * Arms the queue: the next completion makes its channel readable, once.
     *
     * @param solicited whether only errors and receives whose sender set the solicited flag do so
     */
    public void requestNotification(long queue, boolean solicited) {
        try {
            calls._reqNotifyCQ(queue, solicited ? 1 : 0);
        } catch (IOException e) {
            throw failed("ibv_req_notify_cq", e);
        }
    }

    /** Takes an event from a completion channel, if any; returns whether it took one. Never blocks. */
    public boolean takeNotification(long channel) {
        try {
            return calls._getCqEvent(channel, 0) >= 0;
        } catch (IOException e) {
            throw failed("ibv_get_cq_event", e);
        }
    }

    /** Acknowledges this many taken events of a queue. */
    public void acknowledge(long queue, int notifications) {
        calls._ackCqEvent(queue, notifications);
    }
}
