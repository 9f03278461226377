package dev.lite.session.protocol;

import dev.lite.api.Extent;
import dev.lite.api.Lifetime;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtRpc;
import dev.lite.api.LtSync;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcStatus;
import dev.lite.os.wire.SealedWire;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.LinkKeys;
import dev.lite.session.protocol.SessionMessage.AcquireLock;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.AwaitBarrier;
import dev.lite.session.protocol.SessionMessage.CancelTry;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelEnded;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.session.protocol.SessionMessage.ChannelTaken;
import dev.lite.session.protocol.SessionMessage.Copy;
import dev.lite.session.protocol.SessionMessage.CreateOrMap;
import dev.lite.session.protocol.SessionMessage.Describe;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Extents;
import dev.lite.session.protocol.SessionMessage.ExtentsPage;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Free;
import dev.lite.session.protocol.SessionMessage.Goodbye;
import dev.lite.session.protocol.SessionMessage.Grant;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.LockOpened;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Map;
import dev.lite.session.protocol.SessionMessage.MapId;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Memset;
import dev.lite.session.protocol.SessionMessage.MoveTo;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.NodesPage;
import dev.lite.session.protocol.SessionMessage.OpenLock;
import dev.lite.session.protocol.SessionMessage.Passed;
import dev.lite.session.protocol.SessionMessage.Prepare;
import dev.lite.session.protocol.SessionMessage.Publish;
import dev.lite.session.protocol.SessionMessage.Refused;
import dev.lite.session.protocol.SessionMessage.ReleaseLock;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionMessage.RpcOrigin;
import dev.lite.session.protocol.SessionMessage.RpcOriginIs;
import dev.lite.session.protocol.SessionMessage.Unmap;
import dev.lite.session.protocol.SessionMessage.Welcome;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Encodes and decodes control messages. The first byte is the type. Hello, Welcome and Refused continue with the magic number and the
 * version in every version of the protocol, so that two versions can report their difference. Stateless.
 */
public final class SessionCodec {
    private static final int HELLO = 1;
    private static final int WELCOME = 2;
    private static final int REFUSED = 3;
    private static final int MALLOC = 4;
    private static final int MAP = 5;
    private static final int UNMAP = 6;
    private static final int FREE = 7;
    private static final int EXTENTS = 8;
    private static final int NODES = 9;
    private static final int MAPPED = 10;
    private static final int DONE = 11;
    private static final int EXTENTS_PAGE = 12;
    private static final int NODES_PAGE = 13;
    private static final int FAILED = 14;
    private static final int GOODBYE = 15;

    private static final int RPC_OPEN = 60;
    private static final int RPC_CLOSE = 61;
    private static final int RPC_ORIGIN = 62;
    private static final int RPC_OPENED = 63;
    private static final int RPC_ORIGIN_IS = 64;
    // 40 to 59: locks and barriers.
    private static final int OPEN_LOCK = 40;
    private static final int LOCK_OPENED = 41;
    private static final int ACQUIRE_LOCK = 42;
    private static final int ACQUIRED = 43;
    private static final int RELEASE_LOCK = 44;
    private static final int CANCEL_TRY = 45;
    private static final int AWAIT_BARRIER = 46;
    private static final int PASSED = 47;
    // 70 to 79: channels.
    private static final int CHANNEL_OPEN = 70;
    private static final int CHANNEL_OPENED = 71;
    private static final int CHANNEL_OFFERED = 72;
    private static final int CHANNEL_TAKEN = 73;
    private static final int CHANNEL_CLOSE = 74;
    private static final int CHANNEL_ENDED = 75;
    private static final int CHANNEL_RETIRED = 76;
    private static final int LINK_OPENED = 77;
    private static final int LINK_OFFERED = 78;
    private static final int MAP_ID = 16;
    private static final int PREPARE = 17;
    private static final int PUBLISH = 18;
    private static final int MEMSET = 19;
    private static final int COPY = 20;
    private static final int GRANT = 21;
    private static final int MOVE_TO = 22;
    private static final int DESCRIBE = 23;
    private static final int CREATE_OR_MAP = 24;

    private static final int PLACEMENT_LOCAL = 0;
    private static final int PLACEMENT_ROUND_ROBIN = 1;
    private static final int PLACEMENT_SPREAD = 2;
    private static final int PLACEMENT_ON_NODES = 3;

    private static final int LIFETIME_UNTIL_FREED = 0;
    private static final int LIFETIME_SESSION = 1;

    private static final int NAME_MAX = SessionProtocol.NAME_BYTES_MAX;

    private SessionCodec() {}

    /**
     * Writes a message.
     *
     * @param out at least {@value SessionProtocol#MESSAGE_BYTES_MAX} bytes
     * @return its length in bytes
     * @throws IllegalArgumentException when a field is over its limit
     */
    public static int encode(SessionMessage message, MemorySegment out) {
        WireWriter w = new WireWriter(out);
        switch (message) {
            case Hello m ->
                open(w, HELLO, m.version())
                        .putInt(m.oldest())
                        .putString("the application's name", m.application(), NAME_MAX)
                        .putOptional("the token", m.token(), SessionProtocol.TOKEN_BYTES_MAX);
            case Welcome m ->
                open(w, WELCOME, m.version())
                        .putLong(m.sessionId())
                        .putString("the node's name", m.nodeName(), NAME_MAX)
                        .putString("the principal", m.principal(), NAME_MAX)
                        .putInt(m.area().slots())
                        .putInt(m.area().windowBytes())
                        .putInt(m.requestsMax());
            case Refused m -> open(w, REFUSED, m.version()).putInt(m.code()).putText(m.reason());
            case Malloc m -> encodeSpec(numbered(w, MALLOC, m.requestId()).putLong(m.deadlineNs()), m.spec());
            case Map m ->
                numbered(w, MAP, m.requestId())
                        .putLong(m.deadlineNs())
                        .putString("the LMR name", m.name(), LmrSpec.NAME_BYTES_MAX)
                        .putInt(Permission.toBits(m.permissions()));
            case Unmap m ->
                numbered(w, UNMAP, m.requestId()).putLong(m.deadlineNs()).putLong(m.lh());
            case CreateOrMap m -> {
                numbered(w, CREATE_OR_MAP, m.requestId()).putLong(m.deadlineNs());
                encodeSpec(w, m.spec());
                w.putInt(Permission.toBits(m.permissions()));
            }
            case Describe m -> numbered(w, DESCRIBE, m.requestId()).putLong(m.lh());
            case Free m ->
                numbered(w, FREE, m.requestId()).putLong(m.deadlineNs()).putLong(m.lh());
            case Extents m ->
                numbered(w, EXTENTS, m.requestId()).putLong(m.lh()).putInt(m.from());
            case Nodes m -> numbered(w, NODES, m.requestId()).putInt(m.from());
            case MapId m ->
                numbered(w, MAP_ID, m.requestId())
                        .putLong(m.deadlineNs())
                        .putLong(m.lmrId())
                        .putInt(Permission.toBits(m.permissions()));
            case Prepare m -> encodeSpec(numbered(w, PREPARE, m.requestId()).putLong(m.deadlineNs()), m.spec());
            case Publish m ->
                numbered(w, PUBLISH, m.requestId()).putLong(m.deadlineNs()).putLong(m.lh());
            case Memset m ->
                numbered(w, MEMSET, m.requestId())
                        .putLong(m.deadlineNs())
                        .putLong(m.lh())
                        .putLong(m.offset())
                        .putLong(m.length())
                        .putByte(m.value());
            case Copy m ->
                numbered(w, COPY, m.requestId())
                        .putLong(m.deadlineNs())
                        .putLong(m.source())
                        .putLong(m.sourceOffset())
                        .putLong(m.target())
                        .putLong(m.targetOffset())
                        .putLong(m.length())
                        .putByte(m.overlapAllowed() ? 1 : 0);
            case Grant m ->
                numbered(w, GRANT, m.requestId())
                        .putLong(m.deadlineNs())
                        .putLong(m.lh())
                        .putString("the principal", m.principal(), NAME_MAX)
                        .putInt(Permission.toBits(m.permissions()));
            case MoveTo m ->
                numbered(w, MOVE_TO, m.requestId())
                        .putLong(m.deadlineNs())
                        .putLong(m.lh())
                        .putString("the node's name", m.node(), NAME_MAX);
            case Mapped m ->
                numbered(w, MAPPED, m.requestId())
                        .putLong(m.lh())
                        .putLong(m.lmrId())
                        .putOptional("the LMR name", m.name(), LmrSpec.NAME_BYTES_MAX)
                        .putLong(m.size())
                        .putInt(Permission.toBits(m.permissions()));
            case Done m -> numbered(w, DONE, m.requestId());
            case ExtentsPage m -> encodeExtents(m, w);
            case NodesPage m -> encodeNodes(m, w);
            case Failed m ->
                numbered(w, FAILED, m.requestId())
                        .putInt(m.code())
                        .putInt(m.status().number())
                        .putText(m.message());
            case RpcOpen m ->
                numbered(w, RPC_OPEN, m.requestId())
                        .putByte(m.kind().number)
                        .putString("the node's name", m.node(), NAME_MAX)
                        .putString("the name of a function or port", m.name(), LtRpc.NAME_BYTES_MAX);
            case RpcClose m -> numbered(w, RPC_CLOSE, m.requestId()).putLong(m.id());
            case RpcOrigin m -> numbered(w, RPC_ORIGIN, m.requestId()).putLong(m.origin());
            case RpcOpened m -> numbered(w, RPC_OPENED, m.requestId()).putLong(m.id());
            case RpcOriginIs m ->
                numbered(w, RPC_ORIGIN_IS, m.requestId())
                        .putString("the node's name", m.node(), NAME_MAX)
                        .putString("the principal", m.principal(), NAME_MAX);
            case OpenLock m ->
                numbered(w, OPEN_LOCK, m.requestId())
                        .putLong(m.deadlineNs())
                        .putString("the lock's name", m.name(), LtSync.NAME_BYTES_MAX);
            case LockOpened m -> numbered(w, LOCK_OPENED, m.requestId()).putLong(m.number());
            case AcquireLock m ->
                numbered(w, ACQUIRE_LOCK, m.requestId()).putLong(m.deadlineNs()).putLong(m.number());
            case Acquired m -> numbered(w, ACQUIRED, m.requestId()).putLong(m.token());
            case ReleaseLock m ->
                numbered(w, RELEASE_LOCK, m.requestId()).putLong(m.number()).putLong(m.token());
            case CancelTry m ->
                numbered(w, CANCEL_TRY, m.requestId()).putLong(m.number()).putLong(m.attempt());
            case AwaitBarrier m ->
                numbered(w, AWAIT_BARRIER, m.requestId())
                        .putLong(m.deadlineNs())
                        .putString("the barrier's name", m.name(), LtSync.NAME_BYTES_MAX)
                        .putInt(m.parties());
            case Passed m -> numbered(w, PASSED, m.requestId()).putLong(m.round());
            case ChannelOpen m ->
                numbered(w, CHANNEL_OPEN, m.requestId()).putLong(m.deadlineNs()).putLong(m.client());
            case ChannelOpened m ->
                encodeKeys(
                        encodeArea(
                                numbered(w, m.keys() == null ? CHANNEL_OPENED : LINK_OPENED, m.requestId())
                                        .putLong(m.channel()),
                                m.area()),
                        m.keys());
            case ChannelOffered m ->
                encodeKeys(
                        encodeArea(
                                        w.putByte(m.keys() == null ? CHANNEL_OFFERED : LINK_OFFERED)
                                                .putLong(m.channel())
                                                .putLong(m.server()),
                                        m.area())
                                .putString("the node's name", m.node(), NAME_MAX)
                                .putString("the principal", m.principal(), NAME_MAX),
                        m.keys());
            case ChannelTaken m -> numbered(w, CHANNEL_TAKEN, m.requestId()).putLong(m.channel());
            case ChannelClose m -> numbered(w, CHANNEL_CLOSE, m.requestId()).putLong(m.channel());
            case ChannelEnded m -> w.putByte(CHANNEL_ENDED).putLong(m.channel()).putText(m.reason());
            case ChannelRetired m ->
                w.putByte(CHANNEL_RETIRED).putLong(m.channel()).putText(m.reason());
            case Goodbye m -> w.putByte(GOODBYE).putText(m.reason());
        }
        return w.position();
    }

    /**
     * Decodes a message with untrusted content.
     *
     * @param in holds the message at its start
     * @param length of the message, in bytes
     */
    public static SessionMessage decode(MemorySegment in, int length) throws ProtocolException {
        WireReader r = new WireReader(in, length);
        int type = r.getByte();
        SessionMessage message;
        try {
            message = switch (type) {
                case HELLO -> decodeHello(r);
                case WELCOME -> decodeWelcome(r);
                case REFUSED -> new Refused(version(r), r.getInt(), r.getText("the reason"));
                case MALLOC -> new Malloc(r.getLong(), r.getLong(), decodeSpec(r));
                case MAP ->
                    new Map(
                            r.getLong(),
                            r.getLong(),
                            r.getString("the LMR name", LmrSpec.NAME_BYTES_MAX),
                            permissions(r));
                case UNMAP -> new Unmap(r.getLong(), r.getLong(), r.getLong());
                case DESCRIBE -> new Describe(r.getLong(), r.getLong());
                case FREE -> new Free(r.getLong(), r.getLong(), r.getLong());
                case EXTENTS -> new Extents(r.getLong(), r.getLong(), r.getInt());
                case NODES -> new Nodes(r.getLong(), r.getInt());
                case CREATE_OR_MAP -> new CreateOrMap(r.getLong(), r.getLong(), decodeSpec(r), permissions(r));
                case MAP_ID -> new MapId(r.getLong(), r.getLong(), r.getLong(), permissions(r));
                case PREPARE -> new Prepare(r.getLong(), r.getLong(), decodeSpec(r));
                case PUBLISH -> new Publish(r.getLong(), r.getLong(), r.getLong());
                case MEMSET ->
                    new Memset(r.getLong(), r.getLong(), r.getLong(), r.getLong(), r.getLong(), (byte) r.getByte());
                case COPY ->
                    new Copy(
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getByte() != 0);
                case GRANT ->
                    new Grant(
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getString("the principal", NAME_MAX),
                            permissions(r));
                case MOVE_TO ->
                    new MoveTo(r.getLong(), r.getLong(), r.getLong(), r.getString("the node's name", NAME_MAX));
                case MAPPED ->
                    new Mapped(
                            r.getLong(),
                            r.getLong(),
                            r.getLong(),
                            r.getOptional("the LMR name", LmrSpec.NAME_BYTES_MAX),
                            r.getLong(),
                            permissions(r));
                case DONE -> new Done(r.getLong());
                case EXTENTS_PAGE -> decodeExtents(r);
                case NODES_PAGE -> decodeNodes(r);
                case FAILED -> new Failed(r.getLong(), r.getInt(), RpcStatus.of(r.getInt()), r.getText("the message"));
                case RPC_OPEN ->
                    new RpcOpen(
                            r.getLong(),
                            rpcKind(r.getByte()),
                            r.getString("the node's name", NAME_MAX),
                            r.getString("the name of a function or port", LtRpc.NAME_BYTES_MAX));
                case RPC_CLOSE -> new RpcClose(r.getLong(), r.getLong());
                case RPC_ORIGIN -> new RpcOrigin(r.getLong(), r.getLong());
                case RPC_OPENED -> new RpcOpened(r.getLong(), r.getLong());
                case RPC_ORIGIN_IS ->
                    new RpcOriginIs(
                            r.getLong(),
                            r.getString("the node's name", NAME_MAX),
                            r.getString("the principal", NAME_MAX));
                case OPEN_LOCK ->
                    new OpenLock(r.getLong(), r.getLong(), r.getString("the lock's name", LtSync.NAME_BYTES_MAX));
                case LOCK_OPENED -> new LockOpened(r.getLong(), r.getLong());
                case ACQUIRE_LOCK -> new AcquireLock(r.getLong(), r.getLong(), r.getLong());
                case ACQUIRED -> new Acquired(r.getLong(), r.getLong());
                case RELEASE_LOCK -> new ReleaseLock(r.getLong(), r.getLong(), r.getLong());
                case CANCEL_TRY -> new CancelTry(r.getLong(), r.getLong(), r.getLong());
                case AWAIT_BARRIER ->
                    new AwaitBarrier(
                            r.getLong(),
                            r.getLong(),
                            r.getString("the barrier's name", LtSync.NAME_BYTES_MAX),
                            r.getInt());
                case PASSED -> new Passed(r.getLong(), r.getLong());
                case CHANNEL_OPEN -> new ChannelOpen(r.getLong(), r.getLong(), r.getLong());
                case CHANNEL_OPENED -> new ChannelOpened(r.getLong(), r.getLong(), decodeArea(r), null);
                case LINK_OPENED -> new ChannelOpened(r.getLong(), r.getLong(), decodeArea(r), decodeKeys(r));
                case CHANNEL_OFFERED ->
                    new ChannelOffered(
                            r.getLong(),
                            r.getLong(),
                            decodeArea(r),
                            r.getString("the node's name", NAME_MAX),
                            r.getString("the principal", NAME_MAX),
                            null);
                case LINK_OFFERED ->
                    new ChannelOffered(
                            r.getLong(),
                            r.getLong(),
                            decodeArea(r),
                            r.getString("the node's name", NAME_MAX),
                            r.getString("the principal", NAME_MAX),
                            decodeKeys(r));
                case CHANNEL_TAKEN -> new ChannelTaken(r.getLong(), r.getLong());
                case CHANNEL_CLOSE -> new ChannelClose(r.getLong(), r.getLong());
                case CHANNEL_ENDED -> new ChannelEnded(r.getLong(), r.getText("the reason"));
                case CHANNEL_RETIRED -> new ChannelRetired(r.getLong(), r.getText("the reason"));
                case GOODBYE -> new Goodbye(r.getText("the reason"));
                default ->
                    throw new ProtocolException("control message of unknown type %d, %d bytes".formatted(type, length));
            };
        } catch (IllegalArgumentException invalid) {
            // The types check their values; a bad value in a message is an error of the peer.
            throw new ProtocolException("control message of type %d: %s".formatted(type, invalid.getMessage()));
        }
        if (!(message instanceof Hello hello && hello.version() != SessionProtocol.VERSION)) {
            r.finish(); // a newer Hello may continue
        }
        return message;
    }

    /** The extents from index {@code from} on that fit into one reply. */
    public static ExtentsPage extentsPage(long requestId, List<Extent> all, int from) {
        int first = Math.clamp(from, 0, all.size());
        int bytes = 0;
        int to = first;
        while (to < all.size() && bytes < SessionProtocol.PAGE_BYTES) {
            bytes += 20 + utf8BytesMax(all.get(to).node());
            to++;
        }
        return new ExtentsPage(requestId, all.size(), all.subList(first, to));
    }

    /** The nodes from index {@code from} on that fit into one reply. */
    public static NodesPage nodesPage(long requestId, List<NodeInfo> all, int from) {
        int first = Math.clamp(from, 0, all.size());
        int bytes = 0;
        int to = first;
        while (to < all.size() && bytes < SessionProtocol.PAGE_BYTES) {
            bytes += 28
                    + utf8BytesMax(all.get(to).name())
                    + utf8BytesMax(all.get(to).fabric());
            to++;
        }
        return new NodesPage(requestId, all.size(), all.subList(first, to));
    }

    private static int utf8BytesMax(String text) {
        return 3 * text.length();
    }

    private static WireWriter open(WireWriter w, int type, int version) {
        return w.putByte(type).putInt(SessionProtocol.MAGIC).putInt(version);
    }

    private static WireWriter encodeArea(WireWriter w, ChannelArea area) {
        return w.putInt(area.slots()).putInt(area.windowBytes());
    }

    private static ChannelArea decodeArea(WireReader r) throws ProtocolException {
        return new ChannelArea(r.getInt(), r.getInt());
    }

    private static WireWriter encodeKeys(WireWriter w, @Nullable LinkKeys keys) {
        if (keys == null) {
            return w;
        }
        w.putByte(keys.isNone() ? 0 : 1);
        for (byte value : keys.send()) {
            w.putByte(value);
        }
        for (byte value : keys.receive()) {
            w.putByte(value);
        }
        return w;
    }

    private static LinkKeys decodeKeys(WireReader r) throws ProtocolException {
        return switch (r.getByte()) {
            case 0 -> LinkKeys.NONE;
            case 1 -> new LinkKeys(decodeKey(r), decodeKey(r));
            default -> throw new ProtocolException("the keys of a channel: neither some nor none");
        };
    }

    private static byte[] decodeKey(WireReader r) throws ProtocolException {
        byte[] key = new byte[SealedWire.KEY_BYTES];
        for (int i = 0; i < key.length; i++) {
            key[i] = (byte) r.getByte();
        }
        return key;
    }

    private static WireWriter numbered(WireWriter w, int type, long requestId) {
        return w.putByte(type).putLong(requestId);
    }

    private static int version(WireReader r) throws ProtocolException {
        int magic = r.getInt();
        if (magic != SessionProtocol.MAGIC) {
            throw new ProtocolException(
                    "the peer does not speak the LITE session protocol: it began with 0x%08x, not 0x%08x"
                            .formatted(magic, SessionProtocol.MAGIC));
        }
        return r.getInt();
    }

    private static Hello decodeHello(WireReader r) throws ProtocolException {
        int version = version(r);
        // A version that does not fit may continue in another format; its number is enough to refuse it.
        int oldest = version < SessionProtocol.OLDEST_VERSION ? version : r.getInt();
        Hello unfit = new Hello(version, oldest, "unknown", null);
        return !unfit.fits()
                ? unfit
                : new Hello(
                        version,
                        oldest,
                        r.getString("the application's name", NAME_MAX),
                        r.getOptional("the token", SessionProtocol.TOKEN_BYTES_MAX));
    }

    private static Welcome decodeWelcome(WireReader r) throws ProtocolException {
        return new Welcome(
                version(r),
                r.getLong(),
                r.getString("the node's name", NAME_MAX),
                r.getString("the principal", NAME_MAX),
                new SessionArea(r.getInt(), r.getInt()),
                r.getCount("requests under way", Integer.MAX_VALUE, 0));
    }

    private static RpcKind rpcKind(int number) throws ProtocolException {
        for (RpcKind kind : RpcKind.values()) {
            if (kind.number == number) {
                return kind;
            }
        }
        throw new ProtocolException("unknown kind %d of something to open".formatted(number));
    }

    private static Set<Permission> permissions(WireReader r) throws ProtocolException {
        return Permission.fromBits(r.getInt());
    }

    private static void encodeSpec(WireWriter w, LmrSpec spec) {
        w.putLong(spec.size())
                .putOptional("the LMR name", spec.name(), LmrSpec.NAME_BYTES_MAX)
                .putInt(Permission.toBits(spec.defaultPermissions()))
                .putByte(
                        switch (spec.lifetime()) {
                            case UNTIL_FREED -> LIFETIME_UNTIL_FREED;
                            case SESSION -> LIFETIME_SESSION;
                        });
        switch (spec.placement()) {
            case Placement.Local local -> w.putByte(PLACEMENT_LOCAL);
            case Placement.RoundRobin turns -> w.putByte(PLACEMENT_ROUND_ROBIN);
            case Placement.Spread spread -> w.putByte(PLACEMENT_SPREAD);
            case Placement.OnNodes on -> {
                if (on.nodes().size() > SessionProtocol.PLACEMENT_NODES_MAX) {
                    throw new IllegalArgumentException("the placement names %d nodes; the limit is %d"
                            .formatted(on.nodes().size(), SessionProtocol.PLACEMENT_NODES_MAX));
                }
                w.putByte(PLACEMENT_ON_NODES).putInt(on.nodes().size());
                on.nodes().forEach(node -> w.putString("the node's name", node, NAME_MAX));
            }
        }
    }

    private static LmrSpec decodeSpec(WireReader r) throws ProtocolException {
        long size = r.getLong();
        String name = r.getOptional("the LMR name", LmrSpec.NAME_BYTES_MAX);
        Set<Permission> defaults = permissions(r);
        int lifetimeNumber = r.getByte();
        Lifetime lifetime = switch (lifetimeNumber) {
            case LIFETIME_UNTIL_FREED -> Lifetime.UNTIL_FREED;
            case LIFETIME_SESSION -> Lifetime.SESSION;
            default -> throw new ProtocolException("unknown lifetime " + lifetimeNumber);
        };
        return new LmrSpec(size, name, placement(r), defaults, lifetime);
    }

    private static Placement placement(WireReader r) throws ProtocolException {
        int number = r.getByte();
        return switch (number) {
            case PLACEMENT_LOCAL -> Placement.local();
            case PLACEMENT_ROUND_ROBIN -> Placement.roundRobin();
            case PLACEMENT_SPREAD -> Placement.spread();
            case PLACEMENT_ON_NODES -> {
                int count = r.getCount("nodes of the placement", SessionProtocol.PLACEMENT_NODES_MAX, 4);
                List<String> nodes = new ArrayList<>(count);
                for (int i = 0; i < count; i++) {
                    nodes.add(r.getString("the node's name", NAME_MAX));
                }
                yield Placement.on(nodes);
            }
            default -> throw new ProtocolException("unknown placement " + number);
        };
    }

    private static void encodeExtents(ExtentsPage m, WireWriter w) {
        numbered(w, EXTENTS_PAGE, m.requestId())
                .putInt(m.total())
                .putInt(m.extents().size());
        for (Extent extent : m.extents()) {
            w.putString("the node's name", extent.node(), NAME_MAX)
                    .putLong(extent.offset())
                    .putLong(extent.length());
        }
    }

    private static ExtentsPage decodeExtents(WireReader r) throws ProtocolException {
        long requestId = r.getLong();
        int total = r.getInt();
        int count = r.getCount("extents", SessionProtocol.MESSAGE_BYTES_MAX, 20);
        List<Extent> extents = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            extents.add(new Extent(r.getString("the node's name", NAME_MAX), r.getLong(), r.getLong()));
        }
        return new ExtentsPage(requestId, total, extents);
    }

    private static void encodeNodes(NodesPage m, WireWriter w) {
        numbered(w, NODES_PAGE, m.requestId())
                .putInt(m.total())
                .putInt(m.nodes().size());
        for (NodeInfo node : m.nodes()) {
            w.putString("the node's name", node.name(), NAME_MAX)
                    .putInt(node.id())
                    .putLong(node.incarnation())
                    .putLong(node.arenaBytes())
                    .putString("the fabric", node.fabric(), NAME_MAX);
        }
    }

    private static NodesPage decodeNodes(WireReader r) throws ProtocolException {
        long requestId = r.getLong();
        int total = r.getInt();
        int count = r.getCount("nodes", SessionProtocol.MESSAGE_BYTES_MAX, 28);
        List<NodeInfo> nodes = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            nodes.add(new NodeInfo(
                    r.getString("the node's name", NAME_MAX),
                    r.getInt(),
                    r.getLong(),
                    r.getLong(),
                    r.getString("the fabric", NAME_MAX)));
        }
        return new NodesPage(requestId, total, nodes);
    }
}
