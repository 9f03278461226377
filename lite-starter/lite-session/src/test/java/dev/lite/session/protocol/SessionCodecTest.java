package dev.lite.session.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.lite.api.Extent;
import dev.lite.api.Lifetime;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcStatus;
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
import dev.lite.session.wire.WireText;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SessionCodecTest {
    private static final int VERSION = SessionProtocol.VERSION;
    private static final int OLDEST_VERSION = SessionProtocol.OLDEST_VERSION;

    private final MemorySegment message = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);

    static Stream<SessionMessage> everyMessage() {
        LmrSpec spec = LmrSpec.of(Long.MAX_VALUE);
        return Stream.of(
                Hello.of("orders", null),
                Hello.of("größe", "secret"),
                new Welcome(VERSION, 7, "node", "uid:1", new SessionArea(64, 65_536), 16),
                new Refused(VERSION, 10, "too many"),
                new Malloc(1, 2, spec),
                new Malloc(1, Long.MIN_VALUE, spec.withName("name").withDefaultPermissions(Permission.READ)),
                new Malloc(1, 2, spec.withPlacement(Placement.spread()).withLifetime(Lifetime.UNTIL_FREED)),
                new Malloc(1, 2, spec.withPlacement(Placement.roundRobin())),
                new Malloc(1, 2, spec.withPlacement(Placement.on(List.of("a", "b", "a")))),
                new Map(3, 4, "name", Set.of(Permission.READ, Permission.MASTER)),
                new MapId(22, 23, -24, Set.of(Permission.READ)),
                new Prepare(25, 26, spec.withName("name")),
                new CreateOrMap(46, 47, spec.withName("name"), Set.of(Permission.READ, Permission.ATOMIC)),
                new Publish(27, 28, 29),
                new Memset(30, 3, 31, 32, Long.MAX_VALUE, (byte) -1),
                new Copy(33, 34, 35, 36, 37, 38, 39, true),
                new Copy(33, 34, 35, 36, 37, 38, 39, false),
                new Grant(40, 4, 41, "uid:1", Set.of()),
                new MoveTo(42, 4, 43, "node"),
                new Unmap(5, 7, -6),
                new Describe(44, -45),
                new Free(7, 9, 8),
                new Extents(9, 10, 11),
                new Nodes(12, 13),
                new Mapped(14, 15, 16, null, 17, Set.of()),
                new Mapped(14, 15, 16, "x", 17, Set.of(Permission.values())),
                new Done(18),
                new RpcOpen(22, RpcKind.CLIENT, "node", "function"),
                new RpcOpen(22, RpcKind.PORT, "", "größe"),
                new RpcClose(23, 24),
                new RpcOrigin(25, 26),
                new RpcOpened(27, 28),
                new RpcOriginIs(29, "node", "uid:1"),
                new ExtentsPage(19, 2, List.of(new Extent("n", 0, 1), new Extent("", 1, 2))),
                new NodesPage(20, 1, List.of(new NodeInfo("n", 1, 2, 3, "shm"))),
                new Failed(21, 5, RpcStatus.UNKNOWN, "freed"),
                new Failed(21, 12, RpcStatus.NOT_SERVED, "nobody serves it"),
                new OpenLock(22, 23, "größe"),
                new LockOpened(24, 25),
                new AcquireLock(26, 27, 28),
                new Acquired(29, 30),
                new ReleaseLock(31, 32, 33),
                new CancelTry(34, 35, 36),
                new AwaitBarrier(37, 38, "b", 39),
                new Passed(40, 41),
                new ChannelOpen(42, 43, 44),
                new ChannelOpened(45, 46, new ChannelArea(64, 65_536), null),
                new ChannelOpened(45, 46, new ChannelArea(64, 65_536), LinkKeys.NONE),
                new ChannelOpened(45, 46, new ChannelArea(64, 65_536), keys(1, 2)),
                new ChannelOffered(47, 48, new ChannelArea(1, 128), "node", "uid:1", null),
                new ChannelOffered(47, 48, new ChannelArea(1, 128), "node", "uid:1", keys(3, 4)),
                new ChannelTaken(49, 50),
                new ChannelClose(51, 52),
                new ChannelEnded(53, "its server was closed"),
                new ChannelRetired(54, "it has another server"),
                new Goodbye("bye"));
    }

    @ParameterizedTest
    @MethodSource("everyMessage")
    void everyMessageIsDecodedAsItWasEncoded(SessionMessage original) throws ProtocolException {
        int length = SessionCodec.encode(original, message);
        assertThat(SessionCodec.decode(message, length)).isEqualTo(original);
    }

    @ParameterizedTest
    @MethodSource("everyMessage")
    void aTruncatedMessageIsRefused(SessionMessage original) {
        int length = SessionCodec.encode(original, message);
        for (int cut = 0; cut < length; cut++) {
            int shorter = cut;
            assertThatExceptionOfType(ProtocolException.class).isThrownBy(() -> SessionCodec.decode(message, shorter));
        }
        assertThatExceptionOfType(ProtocolException.class)
                .isThrownBy(() -> SessionCodec.decode(message, length + 1))
                .withMessageContaining("1 bytes after the end");
    }

    @ParameterizedTest
    @MethodSource("everyMessage")
    void aMessageWithAChangedByteIsDecodedOrRefused(SessionMessage original) {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        int length = SessionCodec.encode(original, message);
        byte[] intact = message.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
        for (int i = 0; i < 2_000; i++) {
            MemorySegment.copy(intact, 0, message, ValueLayout.JAVA_BYTE, 0, length);
            for (int n = random.nextInt(3); n >= 0; n--) {
                message.set(ValueLayout.JAVA_BYTE, random.nextInt(length), (byte) random.nextInt());
            }
            try {
                assertThat(SessionCodec.decode(message, length)).isNotNull();
            } catch (ProtocolException refused) {
                assertThat(refused.getMessage()).isNotBlank();
            }
        }
    }

    @Test
    void countsAndLengthsAreCheckedBeforeAnyAllocation() {
        int length = SessionCodec.encode(new ExtentsPage(1, 1, List.of(new Extent("n", 0, 1))), message);
        message.set(ValueLayout.JAVA_INT_UNALIGNED, 13, Integer.MAX_VALUE);
        assertThatExceptionOfType(ProtocolException.class)
                .isThrownBy(() -> SessionCodec.decode(message, length))
                .withMessageContaining("extents")
                .withMessageContaining(Integer.toString(Integer.MAX_VALUE));
        int goodbye = SessionCodec.encode(new Goodbye("x"), message);
        for (int bytes : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, SessionProtocol.TEXT_BYTES_MAX + 1}) {
            message.set(ValueLayout.JAVA_INT_UNALIGNED, 1, bytes);
            assertThatExceptionOfType(ProtocolException.class)
                    .isThrownBy(() -> SessionCodec.decode(message, goodbye))
                    .withMessageContaining(Integer.toString(bytes));
        }
    }

    @Test
    void aHelloOfTheNextVersionIsUnderstoodAlsoIfItIsLonger() throws ProtocolException {
        int length = SessionCodec.encode(new Hello(VERSION + 1, VERSION, "new", "secret"), message);
        message.asSlice(length, 8).fill((byte) 1);
        assertThat(SessionCodec.decode(message, length + 8)).isInstanceOfSatisfying(Hello.class, hello -> {
            assertThat(hello.application()).isEqualTo("new");
            assertThat(hello.fits()).isTrue();
            assertThat(hello.sessionVersion()).isEqualTo(VERSION);
        });
    }

    @Test
    void aHelloThatFitsNoVersionStillHasItsVersions() throws ProtocolException {
        int length = SessionCodec.encode(new Hello(VERSION + 2, VERSION + 1, "new", "secret"), message);
        assertThat(SessionCodec.decode(message, length)).isInstanceOfSatisfying(Hello.class, hello -> {
            assertThat(hello.version()).isEqualTo(VERSION + 2);
            assertThat(hello.oldest()).isEqualTo(VERSION + 1);
            assertThat(hello.fits()).isFalse();
        });
        length = SessionCodec.encode(new Hello(OLDEST_VERSION - 1, 1, "old", null), message);
        assertThat(SessionCodec.decode(message, length))
                .isInstanceOfSatisfying(
                        Hello.class, hello -> assertThat(hello.fits()).isFalse());
    }

    @Test
    void anotherProtocolIsDetected() {
        SessionCodec.encode(Hello.of("x", null), message);
        message.set(ValueLayout.JAVA_INT_UNALIGNED, 1, 0x47455420);
        assertThatExceptionOfType(ProtocolException.class)
                .isThrownBy(() -> SessionCodec.decode(message, 15))
                .withMessageContaining("0x47455420");
    }

    @Test
    void aTokenNeverAppearsInAStringForm() {
        assertThat(Hello.of("x", "secret").toString()).doesNotContain("secret");
    }

    @Test
    void namesOverTheLimitAreRefusedAndTextsAreTruncated() throws ProtocolException {
        String tooLong = "n".repeat(SessionProtocol.NAME_BYTES_MAX + 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SessionCodec.encode(Hello.of(tooLong, null), message))
                .withMessageContaining("application")
                .withMessageContaining("513")
                .withMessageContaining("512");
        List<String> many = Collections.nCopies(2000, "node");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        SessionCodec.encode(new Malloc(1, 1, LmrSpec.of(1).withPlacement(Placement.on(many))), message))
                .withMessageContaining("2000");
        int length = SessionCodec.encode(new Failed(1, 1, RpcStatus.REFUSED, "ü".repeat(5000)), message);
        assertThat(SessionCodec.decode(message, length))
                .isEqualTo(new Failed(1, 1, RpcStatus.REFUSED, "ü".repeat(SessionProtocol.TEXT_BYTES_MAX / 2)));
    }

    @Test
    void aTextIsTruncatedBetweenCharacters() {
        assertThat(WireText.cut("aü", 2)).isEqualTo(new byte[] {'a'});
        assertThat(WireText.cut("a😀b", 4)).isEqualTo(new byte[] {'a'});
        assertThat(WireText.cut("a😀b", 6)).isEqualTo("a😀b".getBytes(StandardCharsets.UTF_8));
        assertThat(WireText.cut("", 0)).isEmpty();
        assertThat(WireText.cut("a\ud800b", 10)).isEqualTo(new byte[] {'a', '?', 'b'});
    }

    @Test
    void longListsAreSplitIntoPagesThatFitAMessage() throws ProtocolException {
        List<Extent> all = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            all.add(new Extent("ü".repeat(i % 250), i, 1));
        }
        List<Extent> together = new ArrayList<>();
        while (together.size() < all.size()) {
            int length = SessionCodec.encode(SessionCodec.extentsPage(1, all, together.size()), message);
            ExtentsPage page = (ExtentsPage) SessionCodec.decode(message, length);
            assertThat(page.total()).isEqualTo(10_000);
            assertThat(page.extents()).isNotEmpty();
            together.addAll(page.extents());
        }
        assertThat(together).isEqualTo(all);
        for (int from : new int[] {-1, Integer.MIN_VALUE, 10_000, Integer.MAX_VALUE}) {
            assertThat(SessionCodec.extentsPage(1, all, from)).isNotNull();
            assertThat(SessionCodec.nodesPage(1, List.of(), from).nodes()).isEmpty();
        }
    }

    private static LinkKeys keys(int send, int receive) {
        byte[] first = new byte[32];
        byte[] second = new byte[32];
        Arrays.fill(first, (byte) send);
        Arrays.fill(second, (byte) receive);
        return new LinkKeys(first, second);
    }
}
