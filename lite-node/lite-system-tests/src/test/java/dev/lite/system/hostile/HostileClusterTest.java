package dev.lite.system.hostile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.local.LocalCluster;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/** Attacks on two nodes and a manager. Each is one test and prints one line. */
@Tag("hostile")
@Timeout(300)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class HostileClusterTest {
    private static final String GREEDY = HostileCluster.GREEDY;
    private static final String GOOD = HostileCluster.GOOD;
    private static final Duration SOON = HostileCluster.SOON;
    private static final int HANDLES = 20_000;
    private static final long SAMPLE_NS = 300_000_000;
    private static final HostileReport REPORT = new HostileReport();

    private static LocalCluster cluster;
    private static Neighbour neighbour;

    /** The neighbour's operations per second beside a well-behaved application, just before the attack. */
    private double good;

    private long operations;
    private long startNs;

    @BeforeAll
    static void start() {
        cluster = HostileCluster.start("h");
        neighbour = new Neighbour(attach(GOOD));
        double unused = rate(); // warms up
    }

    @AfterAll
    static void stop() {
        REPORT.print();
        if (neighbour != null) {
            neighbour.close();
        }
        if (cluster != null) {
            cluster.close();
        }
    }

    private static Lite attach(String token) {
        return HostileCluster.attach(cluster, token);
    }

    /** The neighbour's operations per second, now. */
    private static double rate() {
        long before = neighbour.operations();
        long startNs = System.nanoTime();
        Waits.until("a sample", () -> System.nanoTime() - startNs > SAMPLE_NS);
        return (neighbour.operations() - before) * 1e9 / (System.nanoTime() - startNs);
    }

    @BeforeEach
    void begin() {
        try (Neighbour wellBehaved = new Neighbour(attach(GREEDY))) {
            good = rate();
            assertThat(wellBehaved.wrong()).isEmpty();
        }
        operations = neighbour.operations();
        startNs = System.nanoTime();
    }

    /** At the end of an attack, which is still under way if it can be. */
    private void held(String attack, int tried, String what) {
        long nowNs = System.nanoTime();
        double during = (neighbour.operations() - operations) * 1e9 / (nowNs - startNs);
        if (nowNs - startNs < SAMPLE_NS) {
            during = rate();
        }
        REPORT.add(attack, tried, what, good == 0 ? 0 : during / good);
        assertThat(during).as("the neighbour's operations per second").isPositive();
    }

    @AfterEach
    void theNeighbourNoticesNothing() {
        assertThat(neighbour.wrong()).isEmpty();
        assertThat(cluster.node(1).isAlive()).isTrue();
        assertThat(cluster.manager().isAlive()).isTrue();
    }

    @Test
    @Order(1)
    void commandsThatAreSubmittedAgain() throws ProtocolException {
        int tried = 20;
        try (Lite server = attach(GOOD);
                RpcServer never = server.rpc().serve("never")) {
            assertThat(never).isNotNull();
            for (int i = 0; i < tried; i++) {
                try (RawApplication raw = new RawApplication(cluster.socket(1)).attach(GREEDY)) {
                    long function = raw.open(RpcKind.CLIENT, "node-1", "never");
                    raw.call(3, function);
                    raw.call(3, function);
                    assertThat(raw.goodbye()).contains("slot 3").contains("under way");
                }
            }
            held("a command submitted again in its slot", tried, "each ended its session");
        }
    }

    @Test
    @Order(2)
    void connectionsWithoutAHello() {
        List<RawApplication> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 300; i++) {
                silent.add(new RawApplication(cluster.socket(1)));
            }
            for (int i = 0; i < 20; i++) {
                attach(GOOD).close();
            }
            held("half-open attaches", silent.size(), "20 of 20 others attached");
        } finally {
            silent.forEach(RawApplication::close);
        }
    }

    @Test
    @Order(3)
    void sessionsOfOnePrincipal() throws ProtocolException {
        List<RawApplication> sessions = new ArrayList<>();
        boolean refused = false;
        try {
            while (!refused && sessions.size() < 256) {
                RawApplication raw = new RawApplication(cluster.socket(1));
                sessions.add(raw);
                try {
                    raw.attach(GREEDY);
                } catch (AssertionError notWelcome) {
                    refused = true;
                }
            }
            assertThat(refused).isTrue();
            attach(GOOD).close();
            held(
                    "sessions of one principal",
                    sessions.size(),
                    "refused after %d of 256".formatted(sessions.size() - 1));
        } finally {
            sessions.forEach(RawApplication::close);
        }
        Waits.until("the places are free", SOON, () -> {
            try (Lite again = attach(GREEDY)) {
                return again.isOpen();
            } catch (LimitExceededException notYet) {
                return false;
            }
        });
    }

    @Test
    @Order(4)
    void functionsOfOnePrincipal() throws ProtocolException {
        int opened = 0;
        try (RawApplication raw = new RawApplication(cluster.socket(1)).attach(GREEDY);
                Lite other = attach(GOOD)) {
            while (raw.open(RpcKind.SERVER, "node-1", "greedy/f" + opened) >= 0) {
                opened++;
                assertThat(opened).isLessThan(4096);
            }
            other.rpc().serve("mine").close();
            held("functions of one principal", opened + 1, "refused after %d of 4096".formatted(opened));
        }
    }

    @Test
    @Order(5)
    void messagesThatNobodyReceives() {
        MemorySegment message = MemorySegment.ofArray(new byte[LtRpc.MESSAGE_BYTES_MAX]);
        int[] sent = new int[1];
        List<RpcMessages> ports = new ArrayList<>();
        try (Lite greedy = attach(GREEDY);
                Lite other = attach(GOOD)) {
            assertThatThrownBy(() -> {
                        for (int port = 0; port < 1000; port++) {
                            ports.add(greedy.rpc().messages("greedy/p" + port));
                            sent[0] += fill(greedy, "greedy/p" + port, message);
                        }
                    })
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            full -> assertThat(full.status()).isEqualTo(RpcStatus.OVERLOADED));
            try (RpcMessages port = other.rpc().messages("mine")) {
                other.rpc().send("node-1", "mine", message, SOON);
                assertThat(port.receive(SOON).data()).hasSize(LtRpc.MESSAGE_BYTES_MAX);
            }
            held("messages of 64 KiB at ports that nobody receives", sent[0], "refused; others send and receive");
            ports.forEach(RpcMessages::close);
        }
    }

    /** Sends until one would have to wait; returns how many were taken. */
    private static int fill(Lite lite, String port, MemorySegment message) {
        for (int sent = 0; ; sent++) {
            try {
                lite.rpc().send("node-1", port, message, sent == 0 ? SOON : Duration.ofMillis(20));
            } catch (LiteTimeoutException full) {
                return sent;
            }
        }
    }

    @Test
    @Order(6)
    void refusedAttaches() throws ProtocolException, IOException {
        Path log = cluster.node(1).log();
        long before = Files.size(log);
        int tried = 2000;
        for (int i = 0; i < tried; i++) {
            try (RawApplication raw = new RawApplication(cluster.socket(1))) {
                raw.hello(99, GREEDY);
                assertThat(raw.isRefused()).isTrue();
            }
        }
        long bytes = Files.size(log) - before;
        assertThat(bytes).isLessThan(200L * tried / 2);
        held("refused attaches, for the log", tried, "%d bytes of log for each".formatted(bytes / tried));
    }

    private static String get(String url, String... headers) throws IOException, InterruptedException {
        return send(url, headers).body();
    }

    private static HttpResponse<String> send(String url, String... headers) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest.Builder request =
                    HttpRequest.newBuilder(URI.create(url)).timeout(SOON);
            for (int i = 0; i < headers.length; i += 2) {
                request.header(headers[i], headers[i + 1]);
            }
            return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        }
    }

    private static String manager() {
        return cluster.manager().property("url").orElseThrow().replaceAll("/+$", "");
    }

    private static int tcpPort(String node) throws IOException, InterruptedException {
        Matcher found = Pattern.compile("\"name\":\"" + node + "\".*?\"tcp\":\"[^\"]*:(\\d+)\"")
                .matcher(get(manager() + "/api/nodes"));
        assertThat(found.find()).isTrue();
        return Integer.parseInt(found.group(1));
    }

    private static List<Socket> connect(int port, int count) throws IOException {
        List<Socket> sockets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sockets.add(new Socket(InetAddress.getLoopbackAddress(), port));
        }
        return sockets;
    }

    private static void closeAll(List<Socket> sockets) throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    @Test
    @Order(7)
    void halfOpenConnectionsOfStrangers() throws IOException, InterruptedException {
        List<Socket> sockets = connect(tcpPort("node-1"), 300);
        try (Lite lite = attach(GOOD)) {
            cluster.kill(2);
            cluster.startNode(2);
            Waits.until(
                    "the restarted node is connected",
                    SOON,
                    () -> fabricOfTheOther(lite).equals("tcp"));
            held("half-open connections at the TCP port", sockets.size(), "a restarted node connected");
        } finally {
            closeAll(sockets);
        }
    }

    @Test
    @Order(8)
    void guessedSecrets() throws IOException, InterruptedException {
        int port = tcpPort("node-1");
        int tried = 50;
        int refused = 0;
        for (int i = 0; i < tried; i++) {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                socket.setSoTimeout((int) SOON.toMillis());
                // What a node says in its first message: the protocol, and whether it has a secret.
                ByteBuffer opening = ByteBuffer.allocate(80).order(ByteOrder.LITTLE_ENDIAN);
                opening.putLong(0x4C49544554435002L).putLong(i % 2);
                socket.getOutputStream().write(opening.array());
                byte[] claim = new byte[3 * 4 + 3 * 8 + 256 + 32 + 64 + 32];
                claim[4] = 1;
                socket.getOutputStream().write(claim);
                byte[] answer = socket.getInputStream().readAllBytes();
                boolean accepted = answer.length > 80 && answer[80] == 1;
                refused += accepted ? 0 : 1;
            } catch (IOException reset) {
                refused++;
            }
        }
        assertThat(refused).isEqualTo(tried);
        held("handshakes without the secret", tried, "all refused");
    }

    @Test
    @Order(8)
    void aMemberThatSaysItIsAnotherNode() throws IOException {
        Impostor.Outcome outcome =
                Impostor.attack(cluster.zookeeper(), cluster.name(), cluster.secretFile(), "node-1", "node-2", 10);
        assertThat(outcome.accepted()).isZero();
        assertThat(outcome.reason()).contains("it does not have the key of that node");
        try (Lite lite = attach(GOOD)) {
            assertThat(lite.nodes())
                    .filteredOn(node -> node.name().equals("node-2"))
                    .extracting(NodeInfo::fabric)
                    .containsExactly("tcp");
        }
        held("a member with the secret and another node's hello", outcome.tried(), "refused; the node kept its link");
    }

    @Test
    @Order(8)
    void aStrangersRecordsInZooKeeper() throws IOException {
        int tried = Impostor.register(cluster.zookeeper(), cluster.name(), "evil", 20);
        URI health = URI.create(cluster.node(1).health().orElseThrow());
        Waits.until("the node has refused them", () -> refusedRecords(health) >= tried);
        try (Lite lite = attach(GOOD)) {
            assertThat(lite.nodes()).extracting(NodeInfo::name).containsExactlyInAnyOrder("node-1", "node-2");
        }
        held("registrations by a stranger in ZooKeeper", tried, "no node knows them");
    }

    private static long refusedRecords(URI health) {
        try {
            String body = send(health.toString()).body();
            return Stream.of(body.split("\"refusedRecords\":", 2))
                    .skip(1)
                    .map(rest -> rest.replaceAll("[^0-9].*", ""))
                    .mapToLong(Long::parseLong)
                    .findFirst()
                    .orElse(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @Order(9)
    void halfRequestsAtTheManager() throws IOException, InterruptedException {
        List<Socket> sockets = connect(URI.create(manager()).getPort(), 400);
        try {
            for (Socket socket : sockets) {
                try {
                    socket.getOutputStream()
                            .write("GET /api/nodes HTTP/1.1\r\nHost: localhost\r\n"
                                    .getBytes(StandardCharsets.US_ASCII));
                } catch (IOException closedAlready) {
                    assertThat(closedAlready).isNotNull();
                }
            }
            for (int i = 0; i < 10; i++) {
                assertThat(send(manager() + "/actuator/health/liveness").statusCode())
                        .isEqualTo(200);
                assertThat(send(manager() + "/api/nodes").statusCode()).isEqualTo(200);
            }
            held("half requests at the manager", sockets.size(), "20 of 20 others were answered");
        } finally {
            closeAll(sockets);
        }
    }

    @Test
    @Order(10)
    void badQueriesAndReboundNames() throws IOException, InterruptedException {
        assertThat(send(manager() + "/api/locks?after=%ff").statusCode()).isEqualTo(400);
        URI health = URI.create(cluster.node(1).health().orElseThrow());
        try (Socket socket = new Socket(health.getHost(), health.getPort())) {
            socket.setSoTimeout((int) SOON.toMillis());
            socket.getOutputStream()
                    .write("GET /actuator/lite HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n"
                            .getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(answer).startsWith("HTTP/1.1 403").doesNotContain("arena");
        }
        held("a bad query, and a rebound name at a node's actuator", 2, "400 and 403");
    }

    @Test
    @Order(11)
    void namesOfOthers() {
        int tried = 0;
        try (Lite good = attach(GOOD);
                Lite greedy = attach(GREEDY);
                RpcServer served = good.rpc().serve("good/function")) {
            assertThat(served).isNotNull();
            good.memory().malloc(LmrSpec.of(64).withName("good/there"));
            for (String name : List.of("good/there", "good/gone", "good/function", "greedy", "never")) {
                for (Consumer<String> attack : squats(greedy)) {
                    assertThatThrownBy(() -> attack.accept(name))
                            .isInstanceOf(LmrPermissionException.class)
                            .hasMessageContaining("\"greedy\" may not")
                            .hasMessageContaining("\"%s\"".formatted(name));
                    tried++;
                }
            }
            held("names of another principal", tried, "refused, whether they exist or not");
        }
    }

    private static List<Consumer<String>> squats(Lite greedy) {
        return List.of(
                name -> greedy.memory().malloc(LmrSpec.of(64).withName(name)),
                name -> greedy.memory().map(name, Permission.READ),
                name -> greedy.sync().lock(name).acquire(SOON),
                name -> greedy.sync().barrier(name, 1).await(SOON),
                name -> greedy.rpc().serve(name),
                name -> greedy.rpc().messages(name));
    }

    @Test
    @Order(12)
    void guessedTokens() throws ProtocolException {
        int tried = 500;
        for (int i = 0; i < tried; i++) {
            String token = i % 3 == 0 ? "" : i % 3 == 1 ? GOOD + i : GOOD.substring(0, i % GOOD.length());
            try (RawApplication raw = new RawApplication(cluster.socket(1))) {
                raw.hello(SessionProtocol.VERSION, token);
                assertThat(raw.isRefused()).as(token).isTrue();
            }
        }
        held("guessed tokens of principals", tried, "all refused");
    }

    @Test
    @Order(13)
    void handlesOfOnePrincipal() {
        int tried = 0;
        try (Lite greedy = attach(GREEDY);
                Lite other = attach(GOOD)) {
            greedy.memory().malloc(LmrSpec.of(64).withName("greedy/one"));
            LimitExceededException refused = null;
            while (refused == null) {
                try {
                    greedy.memory().map("greedy/one", Permission.READ);
                    tried++;
                } catch (LimitExceededException full) {
                    refused = full;
                }
                assertThat(tried).isLessThan(HANDLES);
            }
            assertThat(refused).hasMessageContaining("lite.node.limits.handles");
            other.memory().malloc(LmrSpec.of(64)).free();
            held("handles of one principal", tried + 1, "refused after %d of %d".formatted(tried + 1, HANDLES));
        }
    }

    @Test
    @Order(14)
    void commandsThatWaitForASilentPeer() {
        List<Lite> sessions = new ArrayList<>();
        List<LmrHandle> there = new ArrayList<>();
        List<Thread> waiting = new ArrayList<>();
        AtomicBoolean over = new AtomicBoolean();
        try {
            for (int session = 0; session < 4; session++) {
                sessions.add(HostileCluster.attach(cluster, GREEDY, Waits.seconds(3)));
                there.add(sessions.getLast().memory().malloc(LmrSpec.of(4096).withPlacement(Placement.on("node-2"))));
            }
            cluster.node(2).pause();
            for (LmrHandle handle : there) {
                for (int slot = 0; slot < 64; slot++) {
                    waiting.add(Thread.ofVirtual().start(() -> addUntil(over, handle)));
                }
            }
            try (Lite other = attach(GOOD)) {
                LmrHandle here = other.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("node-1")));
                for (int i = 0; i < 1000; i++) {
                    assertThat(here.fetchAdd(0, 1)).isEqualTo(i);
                }
                here.free();
            }
            held("commands that wait for a silent peer", waiting.size(), "others execute theirs");
        } finally {
            over.set(true);
            cluster.node(2).resume();
            Waits.until("they end", SOON, () -> waiting.stream().noneMatch(Thread::isAlive));
            sessions.forEach(Lite::close);
        }
        awaitConnection();
    }

    private static void addUntil(AtomicBoolean over, LmrHandle there) {
        while (!over.get()) {
            try {
                assertThat(there.fetchAdd(0, 1)).isNotNegative();
            } catch (LiteException late) {
                assertThat(late).isNotNull();
            }
        }
    }

    private static void awaitConnection() {
        try (Lite lite = attach(GOOD)) {
            Waits.until(
                    "the other node is connected",
                    SOON,
                    () -> fabricOfTheOther(lite).equals("tcp"));
        }
    }

    private static String fabricOfTheOther(Lite lite) {
        return lite.nodes().stream()
                .filter(node -> node.name().equals("node-2"))
                .map(NodeInfo::fabric)
                .findFirst()
                .orElse("none");
    }

    @Test
    @Order(15)
    void fourApplicationsWithSixtyFourCallsEach() {
        int applications = 4;
        int under = 64;
        int calls = 64 * 40;
        List<Lite> sessions = new ArrayList<>();
        try (Lite server = Lite.attach(AttachOptions.to(cluster.socket(2), "hostile-test")
                .withToken(GOOD)
                .withDeadline(SOON))) {
            RpcServer echo = server.rpc().register("echo", 8, RpcCall::request);
            for (int application = 0; application < applications; application++) {
                sessions.add(attach(GOOD));
            }
            List<CompletableFuture<Void>> ends = sessions.stream()
                    .map(lite -> CompletableFuture.runAsync(() -> callMany(lite, under, calls)))
                    .toList();
            ends.forEach(CompletableFuture::join);
            echo.close();
            held("four good applications with 64 calls each under way", applications * calls, "each call was answered");
        } finally {
            sessions.forEach(Lite::close);
        }
    }

    /** Keeps so many calls under way until all are answered, each with its own request. */
    private static void callMany(Lite lite, int under, int calls) {
        Deque<CompletableFuture<byte[]>> waiting = new ArrayDeque<>();
        int answered = 0;
        for (int call = 0; answered < calls; call++) {
            if (call < calls) {
                waiting.add(lite.rpc().callAsync("node-2", "echo", number(call), SOON));
            }
            if (waiting.size() == under || call >= calls) {
                assertThat(waiting.remove().join()).isEqualTo(number(answered++));
            }
        }
    }

    private static byte[] number(int call) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(call).array();
    }

    @Test
    @Order(16)
    void aTruncatedArenaEndsItsNodeWithOneLine() throws IOException {
        Path arena = cluster.arenaDirectory().resolve("node-2").resolve("arena");
        try (RandomAccessFile file = new RandomAccessFile(arena.toFile(), "rw")) {
            file.setLength(0);
        }
        try (Lite lite = Lite.attach(AttachOptions.to(cluster.socket(2), "hostile-test")
                .withToken(GREEDY)
                .withDeadline(Duration.ofSeconds(2)))) {
            lite.memory().malloc(LmrSpec.of(4096));
        } catch (RuntimeException ends) {
            assertThat(ends).isNotNull();
        }
        assertThat(cluster.node(2).awaitExit(SOON)).hasValue(3);
        assertThat(Files.readString(cluster.node(2).log())).contains("the node ends at once and must be started again");
        held("a truncated arena", 1, "its node ended with one line");
    }
}
