package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.run;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.RpcClient;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Functions and ports that a session has open at its node, which limits their number. */
class OpenTargetsTest {
    private static final byte[] REQUEST = {'x'};

    private SessionFixture fixture;

    @BeforeEach
    void attach() throws IOException {
        fixture = new SessionFixture(LONG);
    }

    @AfterEach
    void close() throws IOException {
        fixture.close();
    }

    private void sendTo(int port) {
        fixture.lite.rpc().send("n", "answer-" + port, MemorySegment.ofArray(REQUEST), LONG);
    }

    /** More than stay open. */
    private List<RpcClient> manyFunctions() {
        List<RpcClient> functions = new ArrayList<>();
        for (int function = 0; function < 4096 + 50; function++) {
            functions.add(fixture.lite.rpc().bind("n", "f-" + function));
        }
        return functions;
    }

    private static void callEach(List<RpcClient> functions) {
        for (RpcClient function : functions) {
            assertThat(function.call(REQUEST, LONG)).isEqualTo(REQUEST);
        }
    }

    private void assertThatFiftyAreClosed() {
        Set<Long> closed = new HashSet<>();
        for (int count = 0; count < 50; count++) {
            closed.add(fixture.node.awaitRequest(RpcClose.class).id());
        }
        assertThat(closed).hasSize(50);
    }

    /** All numbers that the client has closed: a request that it sends now follows all of them. */
    private List<Long> closedUntilNow() {
        fixture.lite.rpc().bind("n", "last").call(REQUEST, LONG);
        List<Long> closed = new ArrayList<>();
        while (true) {
            Request request = fixture.node.awaitRequest(Request.class);
            if (request instanceof RpcClose close) {
                closed.add(close.id());
            } else if (request instanceof RpcOpen open && open.name().equals("last")) {
                return closed;
            }
        }
    }

    @Test
    void aSessionThatSendsToEverNewPortsClosesThoseThatItUsesNoMore() {
        int ports = 1024 + 50;
        for (int port = 0; port < ports; port++) {
            sendTo(port);
        }
        assertThatFiftyAreClosed();
        for (int port = 0; port < ports; port++) {
            sendTo(port); // opens it again
        }
    }

    @Test
    void aSessionThatCallsEverNewFunctionsClosesThoseThatItUsesNoMore() {
        List<RpcClient> functions = manyFunctions();
        callEach(functions);
        assertThatFiftyAreClosed();
        callEach(functions); // opens it again
        assertThat(await(functions.getFirst().callAsync(REQUEST, LONG))).isEqualTo(REQUEST);
    }

    @Test
    void aFunctionStaysOpenWhileACallOfItIsUnderWay() {
        RpcClient sync = fixture.lite.rpc().bind("n", "sync");
        RpcClient async = fixture.lite.rpc().bind("n", "async");
        callEach(List.of(sync, async));
        fixture.node.holdCommands(op -> op == Op.CALL);
        CompletableFuture<byte[]> first = start(() -> sync.call(REQUEST, LONG));
        CompletableFuture<byte[]> second = async.callAsync(REQUEST, LONG);
        List<Command> held = List.of(fixture.node.awaitHeldCommand(), fixture.node.awaitHeldCommand());
        fixture.node.holdCommands(op -> false);
        List<RpcClient> others = manyFunctions();
        for (int pass = 0; pass < 3; pass++) {
            callEach(others);
        }
        List<Long> closed = closedUntilNow();
        assertThat(closed)
                .hasSizeGreaterThanOrEqualTo(3 * 50)
                .doesNotContain(held.get(0).lh(), held.get(1).lh());
        held.forEach(one -> fixture.node.complete(one, 1));
        assertThat(await(first)).hasSize(1);
        assertThat(await(second)).hasSize(1);
    }

    @Test
    void aCallThatBeginsWhileItsFunctionIsClosedOpensItAnew() {
        List<RpcClient> functions = manyFunctions();
        callEach(functions);
        List<CompletableFuture<Boolean>> callers = new ArrayList<>();
        for (int caller = 0; caller < 3; caller++) {
            callers.add(run(() -> callEach(functions)));
        }
        callers.forEach(SessionFixture::await);
    }

    @Test
    void ofTwoThreadsThatOpenOneFunctionAtTheSameTimeOneClosesItsNumber() {
        fixture.node.holdRequests(RpcOpen.class::isInstance);
        CompletableFuture<byte[]> one = start(() -> fixture.lite.rpc().call("n", "echo", REQUEST, LONG));
        CompletableFuture<byte[]> other = start(() -> fixture.lite.rpc().call("n", "echo", REQUEST, LONG));
        List<Request> opens = List.of(fixture.node.awaitHeldRequest(), fixture.node.awaitHeldRequest());
        fixture.node.reply(new RpcOpened(opens.get(0).requestId(), 41));
        fixture.node.reply(new RpcOpened(opens.get(1).requestId(), 42));
        assertThat(fixture.node.awaitRequest(RpcClose.class).id()).isIn(41L, 42L);
        assertThat(await(one)).isEqualTo(REQUEST);
        assertThat(await(other)).isEqualTo(REQUEST);
    }
}
