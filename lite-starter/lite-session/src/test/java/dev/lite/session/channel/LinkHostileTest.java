package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.RpcStatus;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.TcpSocket;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One end of a channel between hosts whose other end sends whatever it likes. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Isolated("it counts the descriptors and threads of its process")
class LinkHostileTest {
    private static final ChannelArea AREA = new ChannelArea(4, 1024);
    private static final int ROUNDS = 60;
    private static final long CALL_NS = Waits.seconds(0.2).toNanos();
    private static final long MOMENT_NS = 5_000_000;
    private static final long LONG_NS = TestChannel.LONG_NS;

    private final LinkWatch watch = new LinkWatch();
    private final PolledWaits waits = new PolledWaits("calls", TestChannel.SPINS);

    @AfterEach
    void close() {
        waits.close();
        watch.close();
    }

    /** The other end of a connection, which is plain. */
    private static final class Peer implements AutoCloseable {
        final TcpSocket socket;
        private final MemorySegment buffer = Arena.ofAuto().allocate(128 << 10, 8);

        Peer(TcpSocket socket) {
            this.socket = socket;
        }

        void send(byte... bytes) {
            MemorySegment.copy(MemorySegment.ofArray(bytes), 0, buffer, 0, bytes.length);
            long sent = 0;
            while (sent < bytes.length) {
                long more = socket.send(buffer.address() + sent, bytes.length - sent);
                if (more == 0 && !socket.awaitWritable(LONG_NS)) {
                    throw new AssertionError("the other end does not read");
                }
                sent += more;
            }
        }

        /** Reads so many bytes. */
        ByteBuffer read(int bytes) {
            int got = 0;
            while (got < bytes) {
                long more = socket.receive(buffer.address() + got, bytes - got);
                if (more == TcpSocket.END || (more == 0 && !socket.awaitReadable(LONG_NS))) {
                    throw new AssertionError("%d bytes came; expected %d".formatted(got, bytes));
                }
                got += (int) more;
            }
            return ByteBuffer.wrap(buffer.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE))
                    .order(ByteOrder.LITTLE_ENDIAN);
        }

        /** Passes on what is there after a moment; with a random source, changes it. */
        void relay(Peer to, @Nullable Random random) {
            if (!socket.awaitReadable(MOMENT_NS)) {
                return;
            }
            int got = (int) Math.max(0, socket.receive(buffer.address(), buffer.byteSize()));
            byte[] bytes = buffer.asSlice(0, got).toArray(ValueLayout.JAVA_BYTE);
            if (random != null && got > 0) {
                int at = random.nextInt(got);
                switch (random.nextInt(4)) {
                    case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
                    case 1 -> bytes[at] = (byte) random.nextInt(5);
                    case 2 -> bytes = Arrays.copyOf(bytes, at);
                    default -> random.nextBytes(bytes);
                }
            }
            to.send(bytes);
        }

        @Override
        public void close() {
            socket.close();
        }
    }

    private static byte[] frame(int kind, int slot, int generation, int first, int second, int bytes) {
        return ByteBuffer.allocate(LinkFrame.HEADER_BYTES + bytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(kind | slot << Byte.SIZE)
                .putInt(generation)
                .putInt(first)
                .putInt(second)
                .array();
    }

    private ChannelCaller caller(LinkSocket socket, int spins) {
        return ChannelCaller.linked(AREA.create(), AREA, "shop/order at node-2", spins, waits, socket, watch);
    }

    private Thread start(Runnable task) {
        return Thread.ofPlatform().daemon().start(task);
    }

    private static byte[] call(ChannelCaller caller) {
        return caller.call(TestChannel.longs(1), LONG_NS);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, TestChannel.SPINS})
    void callsUnderWayEndWithTheirEnd(int spins) {
        LinkSocket[] sockets = TestChannel.sockets(false);
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller = caller(sockets[0], spins)) {
            List<@Nullable Throwable> thrown = new ArrayList<>();
            List<Thread> calls = new ArrayList<>();
            for (int i = 0; i < AREA.slots(); i++) {
                calls.add(start(() -> {
                    Throwable its = catchThrowable(() -> call(caller));
                    synchronized (thrown) {
                        thrown.add(its);
                    }
                }));
            }
            ByteBuffer unused = peer.read(AREA.slots() * (LinkFrame.HEADER_BYTES + Long.BYTES));
            caller.end("the test is over");
            calls.forEach(Waits::join);
            assertThat(thrown)
                    .hasSize(AREA.slots())
                    .allSatisfy(its -> assertThat(its)
                            .isInstanceOfSatisfying(
                                    ChannelEndedException.class,
                                    e -> assertThat(e.isMaybeDone()).isTrue())
                            .hasMessageContaining("the test is over"));
        }
    }

    @Test
    void aReplyThatCameBeforeTheConnectionEndedIsNotLostWhenTheNextRequestCannotBeSent() {
        LinkSocket[] sockets = TestChannel.sockets(false);
        ChannelMemory memory = new ChannelMemory(AREA.create(), AREA, "shop/order");
        long threads = watchingThreads();
        LinkWatch closed = new LinkWatch();
        try (Peer peer = new Peer(sockets[1].socket())) {
            CallerLink link = new CallerLink(memory, sockets[0], closed, waits, 0, slot -> {});
            link.start();
            closed.close(); // nobody polls but this thread
            Waits.until("the watching thread has ended", () -> watchingThreads() <= threads);
            assertThat(memory.enter()).isTrue();
            try {
                submit(memory, link, 0);
                ByteBuffer unused = peer.read(LinkFrame.HEADER_BYTES + Long.BYTES);
                peer.send(frame(LinkFrame.REPLY, 0, 1, 0, Long.BYTES, Long.BYTES));
                peer.socket.abort();
                submit(memory, link, 1);
                assertThat(memory.isEnded()).isTrue();
                assertThat(SlotWord.state(RawMemory.getIntVolatile(memory.word(0))))
                        .isEqualTo(SlotWord.DONE);
            } finally {
                memory.exit();
            }
        } finally {
            memory.close();
        }
    }

    private static void submit(ChannelMemory memory, CallerLink link, int slot) {
        RawMemory.putInt(memory.slot(slot) + ChannelArea.REQUEST_LENGTH, Long.BYTES);
        RawMemory.putIntVolatile(memory.word(slot), SlotWord.of(1, SlotWord.PENDING));
        link.submit(slot);
    }

    private static long watchingThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("lite-channel-links"))
                .count();
    }

    private static long descriptors() {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void nothingIsLeftOfClosedEndsAndTheirWatch() {
        try (TestChannel channel = TestChannel.linked(1, 0, watch, true)) { // what is made once is there then
            channel.caller.end("the test is over");
        }
        long threads = watchingThreads();
        long before = descriptors();
        LinkWatch own = new LinkWatch();
        try (TestChannel channel = TestChannel.linked(1, 0, own, true)) {
            Thread server = start(channel::serve);
            assertThat(channel.call(1, LONG_NS)).isEqualTo(-1);
            channel.caller.end("the test is over");
            Waits.join(server);
        }
        own.close();
        Waits.until("the watching thread has ended", () -> watchingThreads() <= threads);
        Waits.until("all descriptors are closed", () -> descriptors() <= before);
    }

    @Test
    void anEndWhoseMemoryIsTooSmallIsClosedWithItsConnection() {
        long before = descriptors();
        for (boolean callers : new boolean[] {false, true}) {
            LinkSocket[] sockets = TestChannel.sockets(false);
            ChannelArea larger = new ChannelArea(AREA.slots() + 1, AREA.windowBytes());
            assertThatThrownBy(() -> {
                        if (callers) {
                            ChannelCaller unused = ChannelCaller.linked(
                                    AREA.create(), larger, "shop/order at node-2", 0, waits, sockets[0], watch);
                        } else {
                            ChannelServer unused = ChannelServer.linked(
                                    AREA.create(), larger, "shop/order", "node-1", "web", sockets[0], watch);
                        }
                    })
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("the area needs");
            sockets[1].socket().close();
        }
        assertThat(descriptors()).isLessThanOrEqualTo(before);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0, 8, the kind of a frame to a caller: 1; must be 3",
        "2, 0, 0, 0, the kind of a frame to a caller: 2; must be 3",
        "0, 0, 0, 0, the kind of a frame to a caller: 0; must be 3",
        "255, 0, 0, 0, the kind of a frame to a caller: 255; must be 3",
        "3, 4, 0, 8, 'the slot of a frame: 4; must be less than 4'",
        "3, 255, 0, 8, 'the slot of a frame: 255; must be less than 4'",
        "3, 65536, 0, 8, 'the slot of a frame: 65536; must be less than 4'",
        "3, -1, 0, 8, 'the generation of a reply in slot'",
        "3, 0, 1, 8, 'the generation of a reply in slot'",
        "3, 0, 134217728, 8, 'the generation of a reply in slot'",
        "3, 0, 0, -1, 'the length of a reply in slot %d: -1; must be 0 to 1024'",
        "3, 0, 0, 1025, 'the length of a reply in slot %d: 1025; must be 0 to 1024'",
        "3, 0, 0, 9, 'the length of the reply in slot %d: 9; must be 0 to 8'"
    })
    void aWrongFrameToACallerEndsTheChannel(int kind, int slot, int generation, int length, String message) {
        LinkSocket[] sockets = TestChannel.sockets(false);
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller = caller(sockets[0], TestChannel.SPINS)) {
            AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
            MemorySegment reply = MemorySegment.ofArray(new byte[Long.BYTES]);
            Thread call =
                    start(() -> thrown.set(catchThrowable(() -> caller.call(TestChannel.longs(1), reply, LONG_NS))));
            ByteBuffer request = peer.read(LinkFrame.HEADER_BYTES + Long.BYTES);
            int its = request.getInt(0) >>> Byte.SIZE;
            // 0: the slot of the call; -1: a free one
            int named = slot == 0 ? its : slot < 0 ? its ^ 1 : slot;
            peer.send(frame(kind, named, request.getInt(4) + generation, 0, length, Math.clamp(length, 0, 9)));
            Waits.join(call);
            assertThat(thrown.get())
                    .isInstanceOfSatisfying(
                            ChannelEndedException.class,
                            e -> assertThat(e.isMaybeDone()).isTrue())
                    .hasMessageContaining(message.replace("%d", String.valueOf(its)));
            assertThatThrownBy(() -> call(caller))
                    .isInstanceOfSatisfying(
                            ChannelEndedException.class,
                            e -> assertThat(e.isMaybeDone()).isFalse());
        }
    }

    @Test
    void aSecondReplyEndsTheChannel() {
        LinkSocket[] sockets = TestChannel.sockets(false);
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller = caller(sockets[0], 0)) {
            AtomicReference<byte @Nullable []> reply = new AtomicReference<>();
            Thread call = start(() -> reply.set(call(caller)));
            ByteBuffer request = peer.read(LinkFrame.HEADER_BYTES + Long.BYTES);
            byte[] frame = frame(LinkFrame.REPLY, request.getInt(0) >>> Byte.SIZE, request.getInt(4), 0, 8, 8);
            peer.send(frame);
            Waits.join(call);
            assertThat(reply.get()).hasSize(Long.BYTES);
            peer.send(frame);
            assertThatThrownBy(() -> call(caller)).hasMessageContaining("the generation of a reply in slot");
        }
    }

    /** A server whose handlers answer with the request, and its peer. */
    private final class Serving implements AutoCloseable {
        final Peer peer;
        final ChannelServer server;
        private final ChannelGroup group;
        private final List<Thread> threads = new ArrayList<>();
        /** What must never come. */
        final AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();

        Serving(int spins, boolean answers) {
            LinkSocket[] sockets = TestChannel.sockets(false);
            peer = new Peer(sockets[0].socket());
            server = ChannelServer.linked(AREA.create(), AREA, "shop/order", "node-1", "web", sockets[1], watch);
            group = new ChannelGroup(ended -> {}, waits, spins);
            assertThat(group.add(server)).isTrue();
            for (int i = 0; i < 2; i++) {
                threads.add(start(() -> serve(answers)));
            }
        }

        private void serve(boolean answers) {
            ReceivedRequest request = new ReceivedRequest(AREA);
            try {
                while (!server.isEnded()) {
                    if (group.receive(request, null, System.nanoTime() + LONG_NS) && answers) {
                        answer(request);
                    }
                }
            } catch (ChannelEndedException e) {
                // the end
            } catch (Throwable e) {
                wrong.set(e);
            }
        }

        private void answer(ReceivedRequest request) {
            try {
                server.reply(request.call(), request.bytes().asSlice(0, request.length()));
            } catch (LimitExceededException e) { // somebody has changed a length
                server.fail(request.call(), RpcStatus.HANDLER_FAILED, 0, "too long");
            }
        }

        void awaitEnd() {
            Waits.until("the channel ends", server::isEnded);
            threads.forEach(Waits::join);
            assertThat(wrong.get()).isNull();
        }

        @Override
        public void close() {
            server.end("the test is over");
            threads.forEach(Waits::join);
            server.close();
            peer.close();
            assertThat(wrong.get()).isNull();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 1, 0, 'the kind of a frame to a server: 0; must be 1 or 2'",
        "3, 0, 1, 0, 'the kind of a frame to a server: 3; must be 1 or 2'",
        "1, 4, 1, 8, 'the slot of a frame: 4; must be less than 4'",
        "2, 4, 1, 0, 'the slot of a frame: 4; must be less than 4'",
        "1, 65536, 1, 8, 'the slot of a frame: 65536; must be less than 4'",
        "1, 0, 134217728, 8, 'the generation of a request in slot 0: 134217728; must be'",
        "1, 0, -1, 8, 'the generation of a request in slot 0: -1; must be'",
        "1, 0, 1, 1025, 'the length of the request in slot 0: 1025; must be 0 to 1024'",
        "1, 0, 1, 1048575, 'the length of the request in slot 0: 1048575; must be 0 to 1024'",
        "1, 0, 1, 9437192, 'the length of the request in slot 0: 9437192; must be 0 to 1024'"
    })
    void aWrongFrameToAServerEndsTheChannel(int kind, int slot, int generation, int lengths, String message) {
        for (int spins : new int[] {0, TestChannel.SPINS}) {
            try (Serving serving = new Serving(spins, false)) {
                serving.peer.send(frame(kind, slot, generation, lengths, 8, 8));
                serving.awaitEnd();
                assertThat(serving.server.endedException()).hasMessageContaining(message);
            }
        }
    }

    @Test
    void aRequestForASlotThatWasNotAnsweredEndsTheChannel() {
        try (Serving serving = new Serving(0, false)) {
            serving.peer.send(frame(LinkFrame.REQUEST, 2, 1, 8, 8, 8));
            serving.peer.send(frame(LinkFrame.REQUEST, 2, 2, 8, 8, 8));
            serving.awaitEnd();
            assertThat(serving.server.endedException())
                    .hasMessageContaining(
                            "a slot with a call that is not answered was submitted again: 2; must be free");
        }
    }

    @Test
    void cancelsOfCallsThatAreNotThereHurtNobody() {
        try (Serving serving = new Serving(0, true)) {
            long beginNs = System.nanoTime();
            for (int i = 1; i <= 50; i++) {
                ByteBuffer flood = ByteBuffer.allocate(1000 * LinkFrame.HEADER_BYTES + 24);
                for (int j = 0; j < 1000; j++) {
                    if (j == 100) {
                        flood.put(frame(LinkFrame.REQUEST, 1, i, 8, 8, 8));
                    }
                    flood.put(frame(LinkFrame.CANCEL, j % AREA.slots(), j % 3 == 0 ? i - 1 : i + 1 + j, 0, 0, 0));
                }
                serving.peer.send(flood.array());
                ByteBuffer reply = serving.peer.read(LinkFrame.HEADER_BYTES + Long.BYTES);
                assertThat(reply.getInt(0)).isEqualTo(LinkFrame.REPLY | 1 << Byte.SIZE);
                assertThat(reply.getInt(4)).isEqualTo(i);
                assertThat(reply.getInt(12)).isEqualTo(Long.BYTES);
            }
            // Sleeps last up to a second if nothing ends them.
            assertThat(Duration.ofNanos(System.nanoTime() - beginNs)).isLessThan(Waits.seconds(8));
        }
    }

    @Test
    void framesMayComeByteByByte() {
        LinkSocket[] sockets = TestChannel.sockets(false);
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller = caller(sockets[0], 0);
                Serving serving = new Serving(0, true)) {
            AtomicReference<byte @Nullable []> reply = new AtomicReference<>();
            Thread call = start(() -> reply.set(call(caller)));
            // What comes from one end goes to the other one.
            byte[] request = peer.read(LinkFrame.HEADER_BYTES + Long.BYTES).array();
            for (byte one : request) {
                serving.peer.send(one);
            }
            for (byte one : serving.peer.read(request.length).array()) {
                peer.send(one);
            }
            Waits.join(call);
            assertThat(reply.get()).startsWith(1).hasSize(Long.BYTES);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 15, 16, 20})
    void aConnectionThatEndsInTheMiddleOfAFrameEndsTheChannel(int bytes) {
        LinkSocket[] sockets = TestChannel.sockets(false);
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller = caller(sockets[0], 0);
                Serving serving = new Serving(0, true)) {
            AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
            Thread call = start(() -> thrown.set(catchThrowable(() -> call(caller))));
            byte[] request = peer.read(LinkFrame.HEADER_BYTES + Long.BYTES).array();
            serving.peer.send(Arrays.copyOf(request, bytes));
            serving.peer.socket.close();
            request[0] = LinkFrame.REPLY;
            request[8] = 0;
            peer.send(Arrays.copyOf(request, bytes));
            peer.socket.close();
            Waits.join(call);
            assertThat(thrown.get()).hasMessageContaining("closed the channel's connection; the call may have been");
            serving.awaitEnd();
            assertThat(serving.server.endedException()).hasMessageContaining("closed the channel's connection");
        }
    }

    @Test
    void callsToAnEndThatNeverReadsTimeOutAndThoseThatWereNotSentWereNotDone() {
        ChannelArea large = new ChannelArea(ChannelArea.SLOTS_MAX, ChannelArea.WINDOW_BYTES_MAX);
        LinkSocket[] sockets = TestChannel.sockets(false);
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller =
                        ChannelCaller.linked(large.create(), large, "shop/order", 0, waits, sockets[0], watch)) {
            MemorySegment request = MemorySegment.ofArray(new byte[large.windowBytes()]);
            List<String> messages = new ArrayList<>();
            for (int i = 0; i < 2 * ChannelArea.SLOTS_MAX && !messages.contains("no slot"); i++) {
                String message = String.valueOf(
                        catchThrowable(() -> caller.call(request, 1_000_000)).getMessage());
                messages.add(
                        message.contains("no slot was free")
                                ? "no slot"
                                : message.contains("may have been done") ? "maybe" : message);
            }
            assertThat(messages).startsWith("maybe").endsWith("no slot").hasSize(ChannelArea.SLOTS_MAX + 1);
            assertThat(peer.socket.isReset()).isFalse();
        }
    }

    /** Sends mutated frames to both ends while calls run. */
    @Test
    void randomFramesHurtOnlyTheirChannelAndNobodyHangs() {
        long seed = Long.getLong("lite.test.seed", System.nanoTime());
        System.out.println("LinkHostileTest: -Dlite.test.seed=" + seed);
        Random random = new Random(seed);
        int ended = 0;
        attack(random); // what is made once is there then
        long before = descriptors();
        for (int round = 0; round < ROUNDS; round++) {
            try {
                ended += attack(random) ? 1 : 0;
            } catch (AssertionError e) {
                throw new AssertionError("seed %d, round %d".formatted(seed, round), e);
            }
        }
        assertThat(ended).as("channels that noticed").isPositive();
        Waits.until("all connections and memories are closed", () -> descriptors() <= before);
    }

    /** Relays between a caller and a server, and changes what it relays. */
    private boolean attack(Random random) {
        int spins = random.nextBoolean() ? TestChannel.SPINS : 0;
        LinkSocket[] sockets = TestChannel.sockets(false);
        AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();
        boolean noticed;
        try (Peer peer = new Peer(sockets[1].socket());
                ChannelCaller caller = caller(sockets[0], spins);
                Serving serving = new Serving(spins, true)) {
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Runnable task = () -> callUntilEnd(caller, wrong);
                callers.add(i < 2 ? start(task) : Thread.ofVirtual().start(task));
            }
            int steps = 1 + random.nextInt(100);
            try {
                for (int i = 0; i < steps && !caller.isEnded() && !serving.server.isEnded(); i++) {
                    boolean last = i == steps - 1;
                    peer.relay(serving.peer, last || random.nextInt(40) == 0 ? random : null);
                    serving.peer.relay(peer, last || random.nextInt(40) == 0 ? random : null);
                }
            } catch (OsException e) {
                // an end has noticed it
            }
            noticed = caller.isEnded() || serving.server.isEnded();
            if (random.nextBoolean()) {
                peer.socket.close();
                serving.peer.socket.close();
            } else {
                caller.end("the test is over");
            }
            callers.forEach(Waits::join);
            assertThat(wrong.get()).isNull();
            serving.server.end("the test is over");
            serving.awaitEnd();
        }
        return noticed;
    }

    private static void callUntilEnd(ChannelCaller caller, AtomicReference<@Nullable Throwable> wrong) {
        try {
            while (!caller.isEnded()) {
                try {
                    byte[] unused = caller.call(TestChannel.longs(1), CALL_NS);
                } catch (LiteException e) {
                    // late, or an error that somebody wrote
                }
            }
        } catch (ChannelEndedException e) {
            // the end
        } catch (Throwable e) {
            wrong.set(e);
        }
    }
}
